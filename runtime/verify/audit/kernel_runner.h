// The part of a target that the audit needs. It runs both kernels, and checks what they have
// changed.
#pragma once

#include <cstdint>

#include "runtime/verify/audit/look.h"
#include "tilepost/plan.h"

namespace tilepost::verify {

// All memory is memory of the target's device. Calls may return before the work that they start is
// done. They throw TargetError.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;

  virtual void upload(void* to, const void* from, int64_t bytes) = 0;
  virtual void fill(uint32_t* memory, int64_t words, int which) = 0;

  // The arguments of both kernels.
  struct Operands {
    const void* a;
    const void* b;
    void* const* user;  // the argument `user` of PlainLaunch::launch
    tilepost_shape_t shape;
    int64_t out_rows;  // rows of the output to which the schedule's tiles are stored
  };
  // Runs the woven kernel with a schedule of `count` positions.
  virtual void run_woven(const Operands& operands, void* c, const tilepost_tile_t* tiles,
                         int32_t count, uint32_t* counters) = 0;
  // Runs the plain kernel in its author's way.
  virtual void run_plain(const Operands& operands, void* c) = 0;

  // Adds the findings of the look to the set *found, and fills the memories and counters anew.
  virtual void look(const Look& look, uint32_t* found) = 0;

  // Waits until all work that was started is done.
  virtual void finish() = 0;
};

}  // namespace tilepost::verify
