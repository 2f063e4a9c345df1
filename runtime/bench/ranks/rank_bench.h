// One rank of an operation that is measured from end to end. The rank runs our operation, the
// sequence that it replaces, and the parts of that sequence alone.
#pragma once

#include <memory>
#include <optional>

#include "runtime/bench/ranks/rank_operation.h"
#include "runtime/bench/ranks/rank_runs.h"
#include "runtime/bench/ranks/sequence.h"
#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"

namespace tilepost::bench {

class RankBench final : public RankRuns {
 public:
  RankBench(const Entry& entry, const tilepost_plan_t& plan, const Session& session,
            BenchTeam& team, int rank);
  ~RankBench() override;

  void create() override;

  // Rank 0 finds the fastest GEMM of cuBLASLt. Ranks that multiply as many rows as rank 0 take the
  // same GEMM, and the others find their own.
  void choose() override;
  void take_choice() override { sequence_->choose(team_.candidates[follows_first() ? 0 : rank_]); }

  // Sums of whole numbers do not depend on the order of the additions, so both results must have
  // the same bits.
  void check() override;

  const char* kind_of_out() const override { return ours_->kind_of_out(); }

 private:
  void start(RankVariant variant) override;
  int64_t rows_of(int rank) const { return rows_multiplied(plan_, rank, session_.options.seed); }
  bool follows_first() const { return rows_of(rank_) == rows_of(0); }

  const Entry& entry_;
  const tilepost_plan_t& plan_;
  const Session& session_;
  std::optional<harness::PlainLaunch> own_;  // the launch of a user's own kernel
  std::unique_ptr<Operands> operands_;
  std::unique_ptr<CublasLt> cublas_;
  std::unique_ptr<Sequence> sequence_;
  std::unique_ptr<RankOperation> ours_;
  int set_ = 0;
};

}  // namespace tilepost::bench
