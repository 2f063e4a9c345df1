// A kernel of the user's own as its author launches it: what harnesses hold the woven one against.
#pragma once

#include "tilepost/plan.h"

namespace tilepost::harness {

// What a kernel reads in a form that it alone knows.
struct OpaqueData {
  const char* name;  // "user.scales"
  int64_t (*bytes)(const tilepost_shape_t& shape);
};

struct PlainLaunch {
  const char* name;  // "lib::my_gemm<128>"; null: there is none
  // Launches it with a block for every tile of c, row-major. `stream` is a cudaStream_t. Returns a
  // cudaError_t, 0 if all is well. `user`: addresses of [num_user].
  int (*launch)(const void* a, const void* b, void* c, const tilepost_shape_t& shape,
                void* const* user, void* stream);
  OpaqueData b = {};  // bytes are null: a matrix of the inputs' type
  const OpaqueData* user = nullptr;
  int num_user = 0;

  // Whether nobody but the kernel can tell what it computes.
  bool is_opaque() const { return b.bytes != nullptr || num_user > 0; }
};

}  // namespace tilepost::harness
