#include "runtime/verify/check.h"

#include <algorithm>
#include <cstring>

#include "runtime/harness/text.h"
#include "runtime/map/patterns.h"
#include "runtime/verify/reference/experts.h"
#include "runtime/verify/reference/norm.h"
#include "runtime/verify/reference/quantised.h"
#include "runtime/verify/reference/token_sums.h"
#include "tilepost/dtype.h"

namespace tilepost::verify {

Check::Check(const CheckSetup& setup, DataKind kind, uint64_t seed)
    : setup_(setup),
      problem_(setup.problem),
      distribution_(distribution_of(kind, setup.problem)),
      weights_(error_weights(kind, setup.problem)),
      seed_(seed) {}

CheckResult Check::run(const RunList& list) {
  harness::RankTeam team(problem_.ranks);
  team.run([&](int rank) { rank_main(team, rank, list); });
  const std::string name = problem_.own != nullptr                 ? "original: "
                           : equals()                              ? "exact: "
                           : distribution_.kind == DataKind::exact ? "integers: "
                                                                   : "random: ";
  if (!team.failure().empty()) return {false, name + team.failure()};
  return {true, name + success(list.count)};
}

void Check::rank_main(harness::RankTeam& team, int rank, const RunList& list) {
  for (int first = 0; first < list.count; first += list.at_once) {
    const int count = std::min(list.at_once, list.count - first);
    std::vector<RunShape> shapes;
    for (int i = 0; i < count; ++i) shapes.push_back(shape_of(problem_, list, first + i, seed_));
    RankOperation& operation = *setup_.operations[rank];
    if (!team.step(rank, [&] { operation.run({distribution_, seed_, first, shapes}); })) return;
    for (int i = 0; i < count; ++i) {
      if (!team.step(rank, [&] {
            if (rank == 0) begin_run(first + i, shapes[i]);
          }))
        return;
      if (!check_run(team, rank, first, i)) return;
    }
  }
}

bool Check::check_run(harness::RankTeam& team, int rank, int first, int set) {
  RankOperation& operation = *setup_.operations[rank];
  const int run = first + set;
  if (problem_.own != nullptr && !team.step(rank, [&] { compute_original(rank, set); }))
    return false;
  if (!team.step(rank, [&] { compute_reference(operation.device(), rank, run); })) return false;
  if (!team.step(rank, [&] { compare_run(rank, set, run); })) return false;
  if (rank == 0) setup_.alive(run + 1);
  return true;
}

void Check::begin_run(int run, const RunShape& shape) {
  shape_ = shape;
  const int references = is_shared() ? 1 : problem_.ranks;
  expected_.assign(references, {});
  kept_.assign(references, {});
  originals_.assign(problem_.ranks, {});
  tiles_.clear();
  for (int rank = 0; rank < problem_.ranks; ++rank) tiles_.emplace_back(setup_.plan, shape_, rank);
  for (int i = 0; i < references; ++i) {
    Expected& expected = expected_[i];
    // A token has several rows.
    const double most = setup_.world.max_reference_products() / std::max(1, problem_.top);
    expected.rows =
        rows_to_check(problem_, shape_.rows(i), most, seed_ + static_cast<uint64_t>(run));
    sampled_ = sampled_ || expected.rows.size() < static_cast<size_t>(shape_.rows(i));
    expected.sum.resize(expected.rows.size() * problem_.n);
    expected.bound.resize(expected.sum.size());
    compared_ += static_cast<int64_t>(expected.sum.size());
    if (problem_.keeps_sum()) kept_[i] = expected;
  }
}

RowSource Check::residual_source(int rank, int run) const {
  const bool scattered = row_of(problem_.pattern).out_is_share();
  return {seed_, run, residual_rank(problem_, rank), scattered ? shape_.shares().data() : nullptr};
}

void Check::compute_original(int rank, int set) {
  originals_[rank] =
      setup_.operations[rank]->buffers(set).original(expected_[reference_of(rank)].rows);
}

void Check::compute_reference(RankDevice& device, int rank, int run) {
  Expected& expected = expected_[reference_of(rank)];
  const auto total = static_cast<int64_t>(expected.rows.size());
  int64_t begin = 0, end = total;
  int first_rank = rank, end_rank = rank + 1;
  if (is_shared()) {
    begin = total * rank / problem_.ranks, end = total * (rank + 1) / problem_.ranks;
    first_rank = 0, end_rank = problem_.ranks;
  }
  if (begin == end) return;
  if (problem_.own != nullptr)
    add_originals(problem_, weights_, originals_, first_rank, end_rank, begin * problem_.n,
                  end * problem_.n, expected.sum.data(), expected.bound.data());
  else
    compute_products(device, rank, run,
                     {problem_, distribution_, weights_, seed_, run, first_rank, end_rank,
                      &expected.rows[begin], end - begin, &expected.sum[begin * problem_.n],
                      &expected.bound[begin * problem_.n], shape_.input_rows(rank)});
  if (problem_.normalises())
    normalise(problem_, distribution_, residual_source(rank, run), begin, end, expected,
              kept_[reference_of(rank)]);
}

void Check::compute_products(RankDevice& device, int rank, int run, const ReferenceJob& job) {
  if (problem_.experts == 0) return device.reference(job);
  if (problem_.combines())
    return reference_of_tokens(job, shape_,
                               [&](const ReferenceJob& own) { device.reference(own); });
  const std::vector<int32_t> ends =
      problem_.dispatches() ? shape_.ends(rank)
                            : expert_ends(problem_, shape_.rows(rank), seed_, run, rank);
  reference_of_experts(job, ends, [&](const ReferenceJob& own) { device.reference(own); });
}

void Check::compare_run(int rank, int set, int run) {
  const RankOperation& operation = *setup_.operations[rank];
  const RunBuffers& buffers = operation.buffers(set);
  compare_out(operation, rank, set, run);
  if (problem_.keeps_sum()) compare_kept(buffers, rank, run);
  if (buffers.gathers()) compare_gathered(buffers, rank, run);
  if (buffers.gathers_scales()) compare_gathered_scales(buffers, rank, run);
}

// Compares the output. If rows of the product are routed, the output has rows of every rank's
// product.
void Check::compare_out(const RankOperation& operation, int rank, int set, int run) {
  std::vector<unsigned char> out;
  std::vector<float> scales;
  std::string overwritten = operation.buffers(set).fetch_out(out);
  if (problem_.quantised) {
    overwritten += operation.buffers(set).fetch_out_scales(scales);
    overwritten += written_padding(problem_, shape_.out_rows(rank), scales);
  }
  const OutputLayout layout = operation.layout(shape_);
  const bool all = row_of(problem_.pattern).product_is_routed();
  Comparison comparison;
  for (int source = all ? 0 : rank; source < (all ? problem_.ranks : rank + 1); ++source)
    if (problem_.quantised)
      compare_quantised(problem_, {out.data(), layout, shape_, rank}, scales,
                        expected_[reference_of(source)], source, tiles_[source], comparison);
    else
      compare(problem_, {out.data(), layout, shape_, rank}, expected_[reference_of(source)], source,
              tiles_[source], comparison);
  hold(comparison, "", run);
  if (problem_.dispatches()) check_untouched(out, rank, run);
  if (!overwritten.empty()) throw TargetError(harness::format("run %d: ", run + 1) + overwritten);
}

// Checks that nothing was written behind the rows that a rank has of its experts.
void Check::check_untouched(const std::vector<unsigned char>& out, int rank, int run) const {
  const int64_t row = problem_.n * element_bytes(problem_.output);
  const auto behind = out.begin() + shape_.rows(rank) * row;
  const auto written =
      std::find_if(behind, out.end(), [](unsigned char byte) { return byte != kPoison; });
  if (written != out.end())
    throw TargetError(harness::format("run %d: row %lld of the output was written, of %lld rows",
                                      run + 1,
                                      static_cast<long long>((written - out.begin()) / row),
                                      static_cast<long long>(shape_.rows(rank))));
}

void Check::compare_kept(const RunBuffers& buffers, int rank, int run) {
  std::vector<unsigned char> kept;
  buffers.fetch_kept(kept);
  Problem row_major = problem_;
  row_major.layout = TILEPOST_PANEL;
  Comparison comparison;
  compare(problem_, {kept.data(), OutputLayout(row_major, shape_, rank), shape_, rank},
          kept_[reference_of(rank)], rank, tiles_[rank], comparison);
  hold(comparison, "the sum with the residual: ", run);
}

// The rows of the gathered A that are checked.
std::vector<int64_t> Check::gathered_rows(int rank, int run) const {
  if (!problem_.dispatches()) return expected_[reference_of(rank)].rows;
  return rows_to_check(problem_, shape_.m(), setup_.world.max_reference_products(),
                       seed_ + static_cast<uint64_t>(run));
}

// Compares the gathered A. Every checked row of A must be in its place, bit by bit.
void Check::compare_gathered(const RunBuffers& buffers, int rank, int run) {
  std::vector<unsigned char> gathered;
  const std::string overwritten = buffers.fetch_gathered(gathered);
  const auto origins = problem_.dispatches() ? shape_.shares() : shape_.input_rows(rank);
  const RowSource source{seed_, run, rank, origins.data()};
  for (const int64_t row : gathered_rows(rank, run))
    for (int64_t i = 0; i < problem_.k; ++i) {
      const float value =
          value_at(distribution_, source.stream(row), source.row_there(row) * problem_.k + i);
      const uint32_t bits = load_bits(gathered.data(), row * problem_.k + i, problem_.input);
      if (bits != encode(value, problem_.input))
        throw TargetError(harness::format(
            "run %d: the gathered A differs at (%lld, %lld): expected %.9g", run + 1,
            static_cast<long long>(row), static_cast<long long>(i), static_cast<double>(value)));
    }
  if (!overwritten.empty()) throw TargetError(harness::format("run %d: ", run + 1) + overwritten);
}

// Compares the scales that have moved with the checked rows of A.
void Check::compare_gathered_scales(const RunBuffers& buffers, int rank, int run) {
  std::vector<unsigned char> gathered;
  const std::string overwritten = buffers.fetch_gathered_scales(gathered);
  const RowSource source{seed_, run, rank, shape_.input_rows(rank).data()};
  const int64_t blocks = problem_.blocks();
  for (const int64_t row : expected_[reference_of(rank)].rows)
    for (int64_t i = 0; i < blocks; ++i) {
      const float expected = scale_at(distribution_, source.stream(row, Matrix::scale_a),
                                      source.row_there(row) * blocks + i);
      float found = 0;
      std::memcpy(&found, &gathered[static_cast<size_t>(row * blocks + i) * sizeof found],
                  sizeof found);
      if (found != expected)
        throw TargetError(harness::format(
            "run %d: the gathered scales differ at (%lld, %lld): expected %.9g, got %.9g", run + 1,
            static_cast<long long>(row), static_cast<long long>(i), static_cast<double>(expected),
            static_cast<double>(found)));
    }
  if (!overwritten.empty()) throw TargetError(harness::format("run %d: ", run + 1) + overwritten);
}

// Throws if any element differs. Otherwise keeps the worst error.
void Check::hold(const Comparison& comparison, const std::string& what, int run) {
  const std::string rows =
      problem_.any_m ? harness::format(" with m = %lld", static_cast<long long>(shape_.m())) : "";
  if (comparison.different > 0)
    throw TargetError("run " + std::to_string(run + 1) + rows + ": " + what + describe(comparison));
  const std::lock_guard lock(worst_mutex_);
  if (worst_bound_ == 0 ||
      comparison.worst_error * worst_bound_ > worst_error_ * comparison.worst_bound)
    worst_error_ = comparison.worst_error, worst_bound_ = comparison.worst_bound;
}

// Whether outputs must be equal bit by bit, because operands are integers and results of these are
// exact.
bool Check::equals() const {
  return distribution_.kind == DataKind::exact && problem_.linear() && !problem_.normalises();
}

std::string Check::success(int runs) const {
  std::string text;
  const Expected& expected = expected_.front();
  if (sampled_)
    text = harness::format("%zu random rows of %lld: ", expected.rows.size(),
                           static_cast<long long>(shape_.rows(0)));
  text += std::to_string(
      problem_.any_m || problem_.routed() ? compared_ : static_cast<int64_t>(expected.sum.size()));
  if (equals() || (problem_.own != nullptr && worst_bound_ == 0))
    text += " elements equal";
  else
    text += harness::format(" elements, largest error %.2g of %.2g allowed", worst_error_,
                            worst_bound_);
  return text + harness::format(", %d run%s", runs, runs == 1 ? "" : "s");
}

}  // namespace tilepost::verify
