#include "tests/host/pattern.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <thread>

namespace {

using reference::Matrix;

constexpr float kEpsilon = 1e-3f;
constexpr size_t kGuard = 64;  // elements after an output that must stay as they are
constexpr uint16_t kGuardBits = 0x4321;

Matrix guarded(size_t elements) {
  return Matrix(elements + kGuard, kGuardBits);
}

template <class Body>
std::string on_all_ranks(int ranks, Body body) {
  std::vector<std::string> errors(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { errors[rank] = body(rank); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors)
    if (!error.empty()) return error;
  return "";
}

Matrix rows_of(const Matrix& matrix, int64_t first, int64_t rows, int64_t width) {
  return Matrix(matrix.begin() + first * width, matrix.begin() + (first + rows) * width);
}

}  // namespace

Aligned::Aligned(const Matrix& values) : memory_(values.size() + 8), size_(values.size()) {
  skip_ = (16 - reinterpret_cast<uintptr_t>(memory_.data()) % 16) % 16 / sizeof(uint16_t);
  std::copy(values.begin(), values.end(), data());
}

PatternRun::PatternRun(const Problem& problem, int64_t m, Spread spread, bool integers,
                       std::mt19937_64& random)
    : problem_(problem), m_(m), ranks_(problem.ranks) {
  for (Rank& rank : ranks_)
    rank.rows = routed() && problem.any_m ? static_cast<int64_t>(random() % (m + 1)) : m;
  make_destinations(spread, random);
  land_rows();
  make_operands(integers, random);
  expect_products(integers);
  for (Rank& rank : ranks_) {
    size_t elements = rank.expected.size();
    const int64_t columns = (problem.n + Problem::kTileN - 1) / Problem::kTileN;
    if (problem.layout == TILEPOST_TILE && problem.consumer == TILEPOST_CONSUMER_NONE)
      elements = (problem.row().out_is_share() ? share() : elements / problem.n) * columns *
                 Problem::kTileN;
    rank.out = Aligned(guarded(elements));
  }
  if (problem.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM) keep_residual();
}

bool PatternRun::normalises() const {
  return problem_.consumer == TILEPOST_CONSUMER_RMS_NORM ||
         problem_.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
}

void PatternRun::make_destinations(Spread spread, std::mt19937_64& random) {
  const int ranks = problem_.ranks;
  const int one = static_cast<int>(random() % ranks);
  const bool bounded = problem_.row().input_is_routed();
  std::vector<int64_t> room(ranks, bounded ? problem_.most_rows() : m_ * ranks);
  if (routed() && problem_.any_m && spread == Spread::some_empty) ranks_.back().rows = 0;
  for (Rank& rank : ranks_) {
    for (int64_t row = 0; row < rank.rows; ++row) {
      int to = static_cast<int>(random() % ranks);
      if (!routed())
        to = static_cast<int>(row / share());
      else if (spread == Spread::all_to_one)
        to = one;
      else if (spread == Spread::some_empty)
        to = to / 2 * 2;
      for (int tries = 1; tries < ranks && room[to] == 0; ++tries) to = (to + 1) % ranks;
      if (room[to] == 0) break;
      --room[to];
      rank.destinations.push_back(to);
    }
    rank.rows = static_cast<int64_t>(rank.destinations.size());
    if (problem_.routing == TILEPOST_ROUTING_SPLITS)
      std::sort(rank.destinations.begin(), rank.destinations.end());
    rank.splits.assign(ranks, 0);
    for (const int32_t to : rank.destinations) ++rank.splits[to];
  }
}

void PatternRun::land_rows() {
  for (int to = 0; to < problem_.ranks; ++to)
    for (const Rank& source : ranks_) ranks_[to].rows_from.push_back(source.splits[to]);
  if (!problem_.row().input_is_routed()) return;
  for (Rank& rank : ranks_)
    rank.rows = std::accumulate(rank.rows_from.begin(), rank.rows_from.end(), int64_t{0});
}

void PatternRun::make_operands(bool integers, std::mt19937_64& random) {
  const auto matrix = [&](int64_t rows, int64_t width) {
    return reference::random_matrix(problem_.type, rows, width, integers, random);
  };
  const int64_t k = problem_.k;
  const bool gathers = problem_.row().moves_input(), routes = problem_.row().routes();
  const Matrix all = matrix(m_, k);
  std::vector<Matrix> own;
  for (int r = 0; r < problem_.ranks; ++r)
    own.push_back(gathers && !routes ? rows_of(all, own_begin(r), own_rows(r), k)
                                     : matrix(ranks_[r].brought(), k));
  for (int r = 0; r < problem_.ranks; ++r) {
    Rank& rank = ranks_[r];
    rank.a = Aligned(own[r]);
    rank.input = !gathers ? own[r] : routes ? rows_for(r, own, k) : all;
    rank.b = Aligned(matrix(problem_.n, k));
    rank.weight = Aligned(matrix(1, problem_.n));
    rank.gathers = gathers && random() % 3 != 0;
    const bool in_place = rank.gathers && !routes && random() % 2 != 0;
    rank.in_place = in_place && own_begin(r) * k % 8 == 0;  // a begins at a multiple of 16 bytes
    rank.gathered = Aligned(guarded(rank.input.size()));
    if (rank.in_place)
      std::copy(own[r].begin(), own[r].end(), rank.gathered.data() + own_begin(r) * k);
    rank.residual = Aligned(matrix(m_, problem_.n));
  }
}

void PatternRun::expect_products(bool integers) {
  std::vector<Matrix> products;
  for (const Rank& rank : ranks_) {
    const Matrix b(rank.b.data(), rank.b.data() + rank.b.size());
    products.push_back(
        reference::gemm(problem_.type, rank.input, b, rank.rows, problem_.n, problem_.k, integers));
  }
  if (problem_.row().sums)
    products.assign(products.size(), reference::sum(problem_.type, products, integers));
  for (int r = 0; r < problem_.ranks; ++r) {
    if (problem_.row().product_is_routed())
      ranks_[r].expected = rows_for(r, products, problem_.n);
    else if (problem_.row().out_is_share())
      ranks_[r].expected = rows_of(products[r], own_begin(r), own_rows(r), problem_.n);
    else
      ranks_[r].expected = products[r];
  }
}

// The rows of all ranks' matrices that are routed to `rank`, in the order of the sources and of
// each source's rows.
Matrix PatternRun::rows_for(int rank, const std::vector<Matrix>& sources, int64_t width) const {
  Matrix all;
  for (int source = 0; source < problem_.ranks; ++source)
    for (size_t row = 0; row < ranks_[source].destinations.size(); ++row) {
      if (ranks_[source].destinations[row] != rank) continue;
      const Matrix values = rows_of(sources[source], static_cast<int64_t>(row), 1, width);
      all.insert(all.end(), values.begin(), values.end());
    }
  return all;
}

// The sum is rounded once after an addition in fp32. Then it is normalised.
void PatternRun::keep_residual() {
  for (Rank& rank : ranks_) {
    for (size_t i = 0; i < rank.expected.size(); ++i) {
      const float sum =
          static_cast<float>(reference::decode(problem_.type, rank.expected[i])) +
          static_cast<float>(reference::decode(problem_.type, rank.residual.data()[i]));
      rank.expected[i] = reference::encode(problem_.type, sum);
    }
    rank.kept = rank.expected;
  }
}

std::string PatternRun::route(const Ops& ops) {
  if (!routed()) return "";
  return on_all_ranks(problem_.ranks, [&](int rank) -> std::string {
    std::string wrong;
    return route(ops[rank], rank, wrong) == TILEPOST_OK ? wrong : tilepost_last_error();
  });
}

tilepost_result_t PatternRun::route(tilepost_op_t op, int rank, std::string& wrong) const {
  tilepost_route_t route{sizeof route, -1, nullptr, nullptr};
  if (problem_.any_m) route.m = ranks_[rank].brought();
  if (problem_.routing == TILEPOST_ROUTING_SPLITS)
    route.splits = ranks_[rank].splits.data();
  else
    route.destinations = ranks_[rank].destinations.data();
  tilepost_arrivals_t arrivals{sizeof arrivals, 0, nullptr, nullptr};
  const tilepost_result_t result = tilepost_op_route(op, &route, &arrivals);
  wrong = result == TILEPOST_OK ? compare_arrivals(rank, arrivals) : "";
  return result;
}

// Checks that every row lands where the receiver has it: in the order of the sources, and of each
// source's rows.
std::string PatternRun::compare_arrivals(int rank, const tilepost_arrivals_t& arrivals) const {
  if (arrivals.rows != out_rows(rank)) return "arrivals.rows is wrong";
  for (int source = 0; source < problem_.ranks; ++source)
    if (arrivals.rows_from[source] != ranks_[rank].rows_from[source]) return "rows_from is wrong";
  std::vector<int64_t> next(problem_.ranks, 0);
  for (int to = 0; to < problem_.ranks; ++to)
    for (int before = 0; before < rank; ++before) next[to] += ranks_[to].rows_from[before];
  for (int64_t row = 0; row < ranks_[rank].brought(); ++row)
    if (arrivals.landed[row] != next[ranks_[rank].destinations[row]]++) return "landed is wrong";
  return "";
}

// How many rows of A a rank brings.
int64_t PatternRun::a_rows(int rank) const {
  if (problem_.row().routes()) return ranks_[rank].brought();
  return problem_.row().moves_input() ? own_rows(rank) : m_;
}

// Sets operands that a rank does not need to null. Slabs have the height of a full share, so even a
// rank without rows of the output may have some.
void PatternRun::drop_unused(int rank, tilepost_run_operands_t& operands) const {
  const bool slabs = problem_.layout == TILEPOST_TILE &&
                     problem_.consumer == TILEPOST_CONSUMER_NONE && ranks_[rank].rows > 0;
  if (a_rows(rank) == 0) operands.a = nullptr;
  if (ranks_[rank].rows == 0) operands.b = nullptr;
  if (out_rows(rank) > 0) return;
  if (!slabs) operands.out = nullptr;
  operands.norm_weight = nullptr;
  operands.norm_residual = nullptr;
}

tilepost_result_t PatternRun::start(tilepost_op_t op, int r) {
  Rank& rank = ranks_[r];
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = rank.in_place ? rank.gathered.data() + own_begin(r) * problem_.k : rank.a.data();
  operands.b = rank.b.data();
  tilepost_op_info_t info{};
  if (tilepost_op_get_info(op, &info) != TILEPOST_OK) return TILEPOST_INTERNAL_ERROR;
  auto* lent = static_cast<uint16_t*>(uses_lent_ ? info.out : nullptr);
  if (!outs_.empty()) lent = outs_[static_cast<size_t>(r)];
  if (lent != nullptr) std::fill_n(lent, m_ * problem_.n, kGuardBits);
  operands.out = lent != nullptr ? lent : rank.out.data();
  rank.found = static_cast<const uint16_t*>(operands.out);
  operands.m = problem_.any_m && !routed() ? m_ : 0;
  operands.gathered = rank.gathers ? rank.gathered.data() : nullptr;
  operands.norm_weight = rank.weight.data();
  operands.norm_residual = rank.residual.data();
  operands.norm_epsilon = kEpsilon;
  if (uses_nulls_) drop_unused(r, operands);
  return tilepost_op_run_with(op, &operands, nullptr);
}

std::string PatternRun::start(const Ops& ops) {
  for (int rank = 0; rank < problem_.ranks; ++rank)
    if (start(ops, rank) != TILEPOST_OK) return tilepost_last_error();
  return "";
}

int64_t PatternRun::place_of(int rank, int64_t row, int64_t col) const {
  if (problem_.layout == TILEPOST_PANEL || problem_.consumer != TILEPOST_CONSUMER_NONE)
    return row * problem_.n + col;
  const int64_t slab = col / Problem::kTileN, in_slab = col % Problem::kTileN;
  if (problem_.row().out_is_share()) return (slab * share() + row) * Problem::kTileN + in_slab;
  const int64_t columns = (problem_.n + Problem::kTileN - 1) / Problem::kTileN;
  int64_t before = 0;
  int source = 0;
  while (row >= before + ranks_[rank].rows_from[source]) before += ranks_[rank].rows_from[source++];
  return (before * columns + slab * ranks_[rank].rows_from[source] + row - before) *
             Problem::kTileN +
         in_slab;
}

std::string PatternRun::compare() const {
  for (int rank = 0; rank < problem_.ranks; ++rank)
    if (const std::string wrong = compare(rank); !wrong.empty()) return wrong;
  return "";
}

std::string PatternRun::compare(int rank) const {
  std::string wrong = normalises() ? compare_norm(rank) : compare_rank(rank);
  if (wrong.empty()) wrong = compare_beside(rank);
  return wrong.empty() ? "" : "rank " + std::to_string(rank) + ": " + wrong;
}

std::string PatternRun::compare_rank(int rank) const {
  const Rank& own = ranks_[rank];
  for (int64_t row = 0; row < out_rows(rank); ++row)
    for (int64_t col = 0; col < problem_.n; ++col) {
      const uint16_t got = own.found[place_of(rank, row, col)];
      const uint16_t want = own.expected[row * problem_.n + col];
      if (got == want) continue;
      std::ostringstream text;
      text << "(" << row << ", " << col << "): " << reference::decode(problem_.type, got)
           << " instead of " << reference::decode(problem_.type, want);
      return text.str();
    }
  return "";
}

// The bound: one rounding to the output type, and a few hundred roundings in fp32 before it.
std::string PatternRun::compare_norm(int rank) const {
  const Rank& own = ranks_[rank];
  const double unit = problem_.type == TILEPOST_BF16 ? 0x1p-8 : 0x1p-11;
  const auto value = [&](uint16_t bits) { return reference::decode(problem_.type, bits); };
  for (int64_t row = 0; row < out_rows(rank); ++row) {
    const uint16_t* x = own.expected.data() + row * problem_.n;
    double squares = 0;
    for (int64_t i = 0; i < problem_.n; ++i) squares += value(x[i]) * value(x[i]);
    const double scale =
        1 / std::sqrt(squares / static_cast<double>(problem_.n) + static_cast<double>(kEpsilon));
    for (int64_t i = 0; i < problem_.n; ++i) {
      const double want = value(x[i]) * scale * value(own.weight.data()[i]);
      const double got = value(own.out.data()[row * problem_.n + i]);
      if (std::fabs(got - want) <= unit * 1.05 * std::fabs(want) + 0x1p-24) continue;
      std::ostringstream text;
      text << "(" << row << ", " << i << "): " << got << " instead of " << want;
      return text.str();
    }
  }
  return "";
}

// Checks what else the run writes, and what it must leave alone.
std::string PatternRun::compare_beside(int rank) const {
  const Rank& own = ranks_[rank];
  for (size_t i = 0; i < own.kept.size(); ++i)
    if (own.residual.data()[i] != own.kept[i]) return "the kept sum is wrong";
  for (size_t i = 0; own.gathers && i < own.input.size(); ++i)
    if (own.gathered.data()[i] != own.input[i]) return "a row of gathered is wrong";
  for (const Aligned* memory : {&own.out, &own.gathered})
    for (size_t i = memory->size() - kGuard; i < memory->size(); ++i)
      if (memory->data()[i] != kGuardBits) return "memory after an output was overwritten";
  return "";
}
