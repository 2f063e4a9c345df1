// A kernel of the user's own, launched in its author's way. Harnesses compare the woven kernel with
// it.
#pragma once

#include "tilepost/plan.h"

namespace tilepost::harness {

// Data that a kernel reads in a form that only the kernel knows.
struct OpaqueData {
  const char* name;  // such as "user.scales"
  int64_t (*bytes)(const tilepost_shape_t& shape);
};

struct PlainLaunch {
  const char* name;  // such as "lib::my_gemm<128>"; null if there is no such kernel
  // Launches the kernel with a block for every tile of c, which is row-major. `stream` is a
  // cudaStream_t. `user`: [num_user] addresses. Returns a cudaError_t, which is 0 on success.
  int (*launch)(const void* a, const void* b, void* c, const tilepost_shape_t& shape,
                void* const* user, void* stream);
  OpaqueData b = {};  // if `bytes` is null, B is a matrix of the inputs' type
  const OpaqueData* user = nullptr;
  int num_user = 0;

  // Whether only the kernel itself determines what it computes, so that no reference can compute
  // it.
  bool is_opaque() const { return b.bytes != nullptr || num_user > 0; }
};

}  // namespace tilepost::harness
