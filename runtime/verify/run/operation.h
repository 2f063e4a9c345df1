// One program that is ready on one rank: its operation and its buffers.
#pragma once

#include <memory>
#include <vector>

#include "runtime/verify/reference/layout.h"
#include "runtime/verify/run/buffers.h"
#include "runtime/verify/run/world.h"
#include "tilepost/routing.h"

namespace tilepost::verify {

// Consecutive runs of one check.
struct RunBatch {
  const Distribution& distribution;
  uint64_t seed;
  int first;                            // the number of the first run
  const std::vector<RunShape>& shapes;  // the shape of each run
};

// One rank's part of a check. All calls but the constructor are collective and run on the rank's
// thread.
class RankOperation {
 public:
  RankOperation(World& world, int rank) : device_(world.device(rank)), world_(world), rank_(rank) {}
  ~RankOperation() { close(); }
  RankOperation(const RankOperation&) = delete;
  RankOperation& operator=(const RankOperation&) = delete;

  // Makes the operation and buffers for `sets` runs in flight.
  void create(const tilepost_program_t& program, const Problem& problem, double deadline, int sets);

  // Fills a set of buffers for every run of the batch, and sets the first run's route if the
  // problem has one. Then starts the runs back to back and waits for them.
  void run(const RunBatch& batch);

  // Waits for the runs within the deadline and frees everything.
  void close();

  RankDevice& device() { return device_; }
  OutputLayout layout(const RunShape& shape) const;
  const RunBuffers& buffers(int set) const { return *buffers_[set]; }

 private:
  void check_info(const tilepost_op_info_t& info) const;
  void check_bound();
  void set_route(const RunShape& shape);
  tilepost_result_t route(const std::vector<int64_t>& splits,
                          const std::vector<int32_t>& destinations, int64_t rows,
                          tilepost_arrivals_t& arrivals);

  RankDevice& device_;
  World& world_;
  const int rank_;
  Problem problem_{};
  const tilepost_plan_t* plan_ = nullptr;
  tilepost_expert_routing_t routing_ = nullptr;  // if tokens go to experts
  tilepost_op_t op_ = nullptr;
  std::vector<int32_t> slots_;  // tilepost_op_info_t::rows
  std::vector<std::unique_ptr<RunBuffers>> buffers_;
};

}  // namespace tilepost::verify
