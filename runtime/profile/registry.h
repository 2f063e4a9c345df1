// What a measuring program was built with: the kernels and products that `tilepost profile` has it
// time. `tilepost profile` writes the definition of work().
#pragma once

#include "tilepost/plan.h"

namespace tilepost::profile {

// A template that is not woven, as a plan without communication.
struct Kernel {
  const char* name;
  tilepost_plan_t (*plan)();
};

// One product that a kernel computes on `ctas` CTAs. Products of equal m, n, k and type follow each
// other in the list, and are timed in turns.
struct Gemm {
  int kernel;  // index into Work::kernels
  int m, n, k, ctas;
};

struct Work {
  const Kernel* kernels;
  int num_kernels;
  const Gemm* cool;  // timed in short bursts, on a chip that rests between them
  int num_cool;
  const Gemm* sustained;  // timed under load
  int num_sustained;
  Gemm beside;  // what computes beside transfers; its `ctas` are those of a whole GPU
};

Work work();

}  // namespace tilepost::profile
