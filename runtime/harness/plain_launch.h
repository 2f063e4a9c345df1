// A kernel of the user's own as its author launches it: what harnesses hold the woven one against.
#pragma once

#include "tilepost/plan.h"

namespace tilepost::harness {

struct PlainLaunch {
  const char* name;  // "lib::my_gemm<128>"; null: there is none
  // Launches it with a block for every tile of c, row-major. `stream` is a cudaStream_t. Returns a
  // cudaError_t, 0 if all is well.
  int (*launch)(const void* a, const void* b, void* c, const tilepost_shape_t& shape, void* stream);
};

}  // namespace tilepost::harness
