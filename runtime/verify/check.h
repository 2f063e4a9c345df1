// One check. It sends one kind of data through one program. The program runs on all ranks, each run
// gets a reference, and every output is compared with its reference.
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

// The objects that a check uses. They must outlive the check.
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
  void compute_products(RankDevice& device, int rank, int run, const ReferenceJob& job);
  void compute_original(int rank, int set);
  void compute_reference(RankDevice& device, int rank, int run);
  void compare_run(int rank, int set, int run);
  void compare_out(const RankOperation& operation, int rank, int set, int run);
  void check_untouched(const std::vector<unsigned char>& out, int rank, int run) const;
  std::vector<int64_t> gathered_rows(int rank, int run) const;
  void compare_kept(const RunBuffers& buffers, int rank, int run);
  void compare_gathered(const RunBuffers& buffers, int rank, int run);
  void compare_gathered_scales(const RunBuffers& buffers, int rank, int run);
  void hold(const Comparison& comparison, const std::string& what, int run);
  // The source of the rows of the residual of `rank`.
  RowSource residual_source(int rank, int run) const;
  bool equals() const;
  std::string success(int runs) const;

  // Whether the ranks compute parts of one common reference. If not, each rank has a reference of
  // its own.
  bool is_shared() const { return problem_.sums(); }
  int reference_of(int rank) const { return is_shared() ? 0 : rank; }

  const CheckSetup setup_;
  const Problem& problem_;
  const Distribution distribution_;
  const ErrorWeights weights_;
  const uint64_t seed_;
  // The members below belong to the run that is compared. Rank 0 creates them, then each rank fills
  // in its part.
  RunShape shape_;
  std::vector<Expected> expected_, kept_;
  Originals originals_;           // replaces the reference if only the kernel knows what it
                                  // computes
  std::vector<TileIndex> tiles_;  // by the rank whose product has the tiles
  std::mutex worst_mutex_;
  double worst_error_ = 0, worst_bound_ = 0;
  int64_t compared_ = 0;
  bool sampled_ = false;
};

}  // namespace tilepost::verify
