// Operations whose kernels exchange tiles and normalise the rows that they sum: their results, what
// is launched, and that runs of the same plan without overlap have a kernel for the norm.
#include <cmath>
#include <random>

#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::last_exchange;
using ranks::Ranks;
using ranks::use_exchange;
using sample::count_calls;

namespace {

constexpr float kEpsilon = 0.5f;
constexpr int64_t kColumns = 24;

// The operands of the norm on every rank. They differ between ranks.
class Norms {
 public:
  Norms(const sample::Program& program, Ranks& team)
      : keeps_(program.plan.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM),
        weights_(team.count()),
        residuals_(team.count()) {
    for (int rank = 0; rank < team.count(); ++rank) {
      fill(weights_[rank], kColumns, rank);
      fill(residuals_[rank], program.plan.map.m * kColumns, rank + 100);
    }
    before_ = residuals_;
    team.on_start = [this](int rank, tilepost_run_operands_t& operands) {
      before_[rank] = residuals_[rank];
      operands.norm_weight = weights_[rank].data();
      operands.norm_residual = residuals_[rank].data();
      operands.norm_epsilon = kEpsilon;
    };
    team.on_found = [this](int rank, const uint16_t* out, const std::vector<float>& sums) {
      int64_t wrong = 0;
      for (size_t first = 0; first < sums.size(); first += kColumns)
        wrong += wrong_in_row(rank, out, sums, first);
      for (size_t i = sums.size(); i < residuals_[rank].size(); ++i)
        wrong += residuals_[rank][i] != before_[rank][i];
      // The residual must stay exact in bf16, so each run starts with small integers again.
      if (keeps_) fill(residuals_[rank], static_cast<int64_t>(residuals_[rank].size()), rank);
      return wrong;
    };
  }

 private:
  // Small integers, none of them 0.
  static void fill(std::vector<uint16_t>& values, int64_t count, int seed) {
    std::minstd_rand random(static_cast<uint32_t>(seed) + 1);
    values.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      fakes::bf16::write(values.data(), i, static_cast<float>(1 + random() % 5));
  }

  int64_t wrong_in_row(int rank, const uint16_t* out, const std::vector<float>& sums,
                       size_t first) const {
    int64_t wrong = 0;
    double squares = 0;
    std::vector<double> y;
    for (size_t i = first; i < first + kColumns; ++i) {
      const auto at = static_cast<int64_t>(i);
      y.push_back(sums[i] + (keeps_ ? fakes::bf16::read(before_[rank].data(), at) : 0));
      squares += y.back() * y.back();
      const uint16_t* const kept = residuals_[rank].data();
      wrong += keeps_ ? fakes::bf16::read(kept, at) != static_cast<float>(y.back())
                      : kept[i] != before_[rank][i];
    }
    for (size_t i = 0; i < y.size(); ++i) {
      const double wanted = y[i] / std::sqrt(squares / kColumns + kEpsilon) *
                            fakes::bf16::read(weights_[rank].data(), static_cast<int64_t>(i));
      const double found = fakes::bf16::read(out, static_cast<int64_t>(first + i));
      wrong += !(std::abs(found - wanted) <= wanted / 100);
    }
    return wrong;
  }

  const bool keeps_;
  std::vector<std::vector<uint16_t>> weights_, residuals_, before_;
};

const tilepost_shots_t kShots[] = {TILEPOST_ONE_SHOT, TILEPOST_TWO_SHOT, TILEPOST_ONE_SHOT_LINES};
const tilepost_consumer_t kNorms[] = {TILEPOST_CONSUMER_RMS_NORM,
                                      TILEPOST_CONSUMER_RESIDUAL_RMS_NORM};

// Makes such an operation for each number of shots with each norm.
class NormTeam : public Team {
 public:
  NormTeam() {
    shots = GENERATE(from_range(std::begin(kShots), std::end(kShots)));
    program.plan.consumer = GENERATE(from_range(std::begin(kNorms), std::end(kNorms)));
  }
  tilepost_shots_t shots;
};

}  // namespace

TEST_CASE_METHOD(NormTeam, "exchange: every rank's rows are normalised, run after run") {
  const int count = GENERATE(2, 3, 4), ctas = GENERATE(1, 2);
  const int64_t m = GENERATE(1, 17, 64);
  CAPTURE(static_cast<int>(shots), count, ctas, m);
  use_exchange(program, shots, count, m, ctas);
  Ranks& all = create(count);
  const Norms norms(program, all);
  world().reset_calls();
  all.run_mixed();
  check();
  CHECK(count_calls("gemm ") == 7 * count);
  CHECK(count_calls("norm ") == 0);
}

TEST_CASE_METHOD(NormTeam, "exchange: a rank normalises its share of a ReduceScatter") {
  if (shots == TILEPOST_TWO_SHOT) return;
  const int ctas = GENERATE(1, 2);
  const int64_t m = GENERATE(1, 5, 61);  // some ranks have no rows; each has few; each has many
  CAPTURE(static_cast<int>(shots), ctas, m);
  use_exchange(program, shots, 3, m, ctas, TILEPOST_GEMM_REDUCE_SCATTER);
  Ranks& all = create(3);
  const Norms norms(program, all);
  world().reset_calls();
  all.run_mixed();
  check();
  CHECK(count_calls("norm ") == 0);
}

TEST_CASE_METHOD(NormTeam, "exchange: any number of rows is normalised") {
  CAPTURE(static_cast<int>(shots));
  program.plan.any_m = 1;
  use_exchange(program, shots, 3, 61, 2);
  Ranks& all = create(3);
  const Norms norms(program, all);
  for (int64_t m = 1; m <= 61; m += 7) all.run(2, m);
  for (int64_t m = 57; m >= 1; m -= 14) all.run_captured(m);
  check();
}

TEST_CASE_METHOD(NormTeam, "exchange: behind runs that do not overlap the norm is a kernel") {
  CAPTURE(static_cast<int>(shots));
  constexpr int64_t kRows = 5;
  program.use_any_m();
  use_exchange(program, shots, 3, 61);
  Ranks& all = create(3);
  const Norms norms(program, all);
  for (int round = 0; round < 3; ++round) {
    world().reset_calls();
    all.run(2);
    CHECK(count_calls("norm ") == 0);
    CHECK(last_exchange(0).norm.weight != nullptr);
    world().reset_calls();
    world().on_norm = nullptr;  // the fakes do not execute what NCCL moves
    all.run_unchecked(1, kRows);
    CHECK(count_calls("norm user") == 3);
  }
  check();
}

TEST_CASE_METHOD(NormTeam, "exchange: what the norm reads has to be there") {
  use_exchange(program, shots, 2, 61);
  Ranks& all = create(2);
  tilepost_run_operands_t values = sample::operands();
  const bool keeps = program.plan.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  (keeps ? values.norm_residual : const_cast<void*&>(values.norm_weight)) = nullptr;
  CHECK(tilepost_op_run_with(all.at(0).setup.op, &values, all.at(0).user) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains(keeps ? "norm_residual" : "norm_weight"));
}

// Sums are stored where an output that is lent or registered would have rows.
TEST_CASE_METHOD(NormTeam,
                 "exchange: an output that is normalised is neither lent nor registered") {
  use_exchange(program, shots, 2, 61);
  Ranks& all = create(2);
  CHECK(all.at(0).lent == nullptr);
  std::vector<uint16_t> buffer(61 * kColumns);
  CHECK(tilepost_op_register(all.at(0).setup.op, buffer.data(), 61 * kColumns * 2) ==
        TILEPOST_UNSUPPORTED);
}
