// What the audit needs of a target: it runs both kernels, and looks at what they have changed.
#pragma once

#include <cstdint>

#include "runtime/verify/audit/look.h"
#include "tilepost/plan.h"

namespace tilepost::verify {

// All memory is the target device's. Calls may return before the work that they start is done. They
// throw TargetError.
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
    int64_t out_rows;  // rows of the output to which the schedule's tiles are stored
  };
  // Runs the woven kernel with a schedule of `count` positions.
  virtual void run_woven(const Operands& operands, void* c, const tilepost_tile_t* tiles,
                         int32_t count, uint32_t* counters) = 0;
  // Runs the plain kernel as its author launches it.
  virtual void run_plain(const Operands& operands, void* c) = 0;

  // Adds what the look finds to the set *found, and fills the memories and counters anew.
  virtual void look(const Look& look, uint32_t* found) = 0;

  // Waits until all work that was started is done.
  virtual void finish() = 0;
};

}  // namespace tilepost::verify
