// One program made ready on every rank: its operation, its output's layout and its buffers.
#pragma once

#include <memory>
#include <vector>

#include "runtime/verify/buffers.h"
#include "runtime/verify/layout.h"
#include "runtime/verify/world.h"

namespace tilepost::verify {

// One rank's part. create() and the destructor are collective and run on the rank's thread.
class RankOperation {
 public:
  RankOperation(World& world, int rank) : device_(world.device(rank)), world_(world), rank_(rank) {}
  ~RankOperation() { close(); }
  RankOperation(const RankOperation&) = delete;
  RankOperation& operator=(const RankOperation&) = delete;

  // Makes the operation and buffers for `sets` runs in flight.
  void create(const tilepost_program_t& program, const Problem& problem, double deadline, int sets);

  // Fills `count` sets for the runs from `first` on, starts them back to back, waits for them.
  void run(const Distribution& distribution, uint64_t seed, int first, int count);

  // Waits for the runs within the deadline and frees everything.
  void close();

  RankDevice& device() { return device_; }
  const OutputLayout& layout() const { return *layout_; }
  const RunBuffers& buffers(int set) const { return *buffers_[set]; }

 private:
  RankDevice& device_;
  World& world_;
  const int rank_;
  tilepost_op_t op_ = nullptr;
  bool has_epilogue_ = false;
  std::unique_ptr<OutputLayout> layout_;
  std::vector<std::unique_ptr<RunBuffers>> buffers_;
};

}  // namespace tilepost::verify
