// What the audit needs of a target: both kernels, and looks at what they have changed.
#pragma once

#include <cstdint>

#include "runtime/verify/audit/look.h"
#include "tilepost/plan.h"

namespace tilepost::verify {

// Memory is of the target's device. Calls may return before what they start is done; they throw
// TargetError.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;

  virtual void upload(void* to, const void* from, int64_t bytes) = 0;
  virtual void fill(uint32_t* memory, int64_t words, int which) = 0;

  // What both kernels are called with.
  struct Operands {
    const void* a;
    const void* b;
    void* const* user;  // as PlainLaunch::launch takes it
    tilepost_shape_t shape;
    int64_t out_rows;  // of the output: that the schedule's tiles are stored to
  };
  // The woven kernel with a schedule of `count` positions.
  virtual void run_woven(const Operands& operands, void* c, const tilepost_tile_t* tiles,
                         int32_t count, uint32_t* counters) = 0;
  // The plain one as its author launches it.
  virtual void run_plain(const Operands& operands, void* c) = 0;

  // Adds what is found to *found, and fills the memories and counters again.
  virtual void look(const Look& look, uint32_t* found) = 0;

  // Waits for all of that.
  virtual void finish() = 0;
};

}  // namespace tilepost::verify
