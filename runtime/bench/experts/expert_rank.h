// One rank of a half of a mixture-of-experts layer that is measured from end to end: our operation,
// bound to a routing, beside the sequence that it replaces (expert_sequence.h). The routing's
// tables are made before times are taken.
#pragma once

#include <memory>

#include "runtime/bench/experts/expert_operands.h"
#include "runtime/bench/experts/expert_sequence.h"
#include "runtime/bench/ranks/rank_runs.h"
#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"
#include "tilepost/routing.h"

namespace tilepost::bench {

class ExpertRank final : public RankRuns {
 public:
  ExpertRank(const Entry& entry, const tilepost_plan_t& plan, const Session& session,
             BenchTeam& team, int rank);
  ~ExpertRank() override;

  void create() override;
  void choose() override;
  void take_choice() override {}

  // Operations that are not exact may differ by a little: gate and up are whole numbers, and
  // functions of them are computed in two ways. Of sums of tokens the sequence's result is compared
  // with a reference of its own (sums_reference.h).
  void check() override;

  const char* kind_of_out() const override { return "caller's"; }
  std::string rows_in_words() const override;

 private:
  void start(RankVariant variant) override;
  void check_bound() const;
  void route(const TokenIds& own);

  const Entry& entry_;
  const tilepost_plan_t& plan_;
  const Session& session_;
  const std::vector<TokenIds> all_;  // [ranks]
  std::vector<int64_t> rows_of_ranks_;
  std::unique_ptr<ExpertOperands> operands_;
  std::unique_ptr<ExpertSequence> sequence_;
  cuda::DeviceMemory ids_, weights_;
  tilepost_expert_routing_t routing_ = nullptr;
  tilepost_op_t op_ = nullptr;
  int set_ = 0;
};

}  // namespace tilepost::bench
