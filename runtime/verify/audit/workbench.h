// The memory for the audit of one shape: operands, two filled outputs with room around them, and
// counters.
#pragma once

#include <memory>
#include <vector>

#include "runtime/verify/audit/kernel_runner.h"
#include "runtime/verify/audit/schedule.h"
#include "runtime/verify/run/opaque_memory.h"
#include "runtime/verify/run/world.h"

namespace tilepost::verify {

class Workbench {
 public:
  // The memory serves schedules with at most the positions, groups and rows of `largest`.
  Workbench(RankDevice& device, KernelRunner& runner, const harness::PlainLaunch& plain,
            const tilepost_plan_t& plan, int64_t m, uint64_t seed, const Schedule& largest);
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  int64_t m() const { return operands_.shape.m; }

  void upload(const Schedule& schedule);
  // Run one of the kernels. The woven one runs for `count` positions of the uploaded schedule, from
  // `first` on.
  void run_plain(int which);
  void run_woven(int which, int64_t first, int64_t count);

  // A look that expects the tiles of these positions in both memories.
  Look look_for(const Schedule& schedule, int64_t first, int64_t count) const;
  // Adds the findings of the look to found()[slot]. Memories and counters are filled anew
  // afterwards.
  void look(const Look& look, int64_t slot);
  std::vector<uint32_t> found(int64_t slots);  // also sets the findings to 0

  void renew();  // fills memories and counters anew
  std::vector<unsigned char> memory(int which) const;
  std::vector<uint32_t> counters() const;
  // Where the output begins in the memories, in bytes.
  int64_t begin() const { return begin_; }
  int64_t row_bytes() const { return row_bytes_; }
  int element_bytes() const { return element_bytes_; }

  // The data whose form only the kernel knows.
  OpaqueMemory& opaque() { return opaque_; }

  // The name of an operand that has changed (A, B or user data), or "".
  std::string changed_operand() const;

  static constexpr int64_t kMostSlots = 1 << 16;

 private:
  std::vector<unsigned char> bytes_at(const void* memory, int64_t bytes) const;
  void* take(int64_t bytes);
  void* output(int which) const { return reinterpret_cast<char*>(memory_[which]) + begin_; }

  RankDevice& device_;
  KernelRunner& runner_;
  const tilepost_plan_t& plan_;
  std::vector<void*> taken_;
  OpaqueMemory opaque_;
  KernelRunner::Operands operands_{};
  std::vector<unsigned char> a_, b_;  // copies of A and B as they were filled
  int64_t begin_ = 0, words_ = 0, row_bytes_ = 0, num_counters_ = 0;
  int element_bytes_ = 2;
  uint32_t* memory_[2]{};
  uint32_t* counters_ = nullptr;
  uint32_t* found_ = nullptr;
  tilepost_tile_t* tiles_ = nullptr;
};

}  // namespace tilepost::verify
