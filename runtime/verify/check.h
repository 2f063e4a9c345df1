// One kind of data through one program: runs on all ranks, a reference for each, every output
// compared.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/harness/rank_team.h"
#include "runtime/verify/check_program.h"
#include "runtime/verify/reference/compare.h"
#include "runtime/verify/reference/originals.h"
#include "runtime/verify/run/operation.h"

namespace tilepost::verify {

using Operations = std::vector<std::unique_ptr<RankOperation>>;

// What a check is made of, alive as long as it.
struct CheckSetup {
  const Problem& problem;
  const tilepost_plan_t& plan;
  const World& world;
  Operations& operations;
  const std::function<void(int)>& alive;  // called with the number of runs so far
};

class Check {
 public:
  Check(const CheckSetup& setup, DataKind kind, uint64_t seed);
  CheckResult run(const RunList& list);

 private:
  void rank_main(harness::RankTeam& team, int rank, const RunList& list);
  bool check_run(harness::RankTeam& team, int rank, int first, int set);
  void begin_run(int run, const RunShape& shape);
  void compute_original(int rank, int set);
  void compute_reference(RankDevice& device, int rank, int run);
  void compare_run(int rank, int set, int run);
  void compare_out(const RankOperation& operation, int rank, int set, int run);
  void compare_kept(const RunBuffers& buffers, int rank, int run);
  void compare_gathered(const RunBuffers& buffers, int rank, int run);
  void hold(const Comparison& comparison, const std::string& what, int run);
  // Rows of which matrix `rank` brings when all ranks' are asked for.
  RowSource residual_source(int rank, int run) const;
  bool equals() const;
  std::string success(int runs) const;

  // The ranks share one reference out among themselves, or make one each.
  bool is_shared() const { return problem_.sums(); }
  int reference_of(int rank) const { return is_shared() ? 0 : rank; }

  const CheckSetup setup_;
  const Problem& problem_;
  const Distribution distribution_;
  const ErrorWeights weights_;
  const uint64_t seed_;
  // Of the run that is compared; made by rank 0, then by each rank its part.
  RunShape shape_;
  std::vector<Expected> expected_, kept_;
  Originals originals_;           // where there is no reference
  std::vector<TileIndex> tiles_;  // by rank whose product it is
  std::mutex worst_mutex_;
  double worst_error_ = 0, worst_bound_ = 0;
  int64_t compared_ = 0;
  bool sampled_ = false;
};

}  // namespace tilepost::verify
