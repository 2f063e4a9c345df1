// The part of CUDA's header of this name that kernels use, on the CPU: see cpu_shim.h.
#pragma once

#include "runtime/verify/host/shim/pairs.h"

struct __nv_fp8_e4m3 {
  uint8_t __x;
  operator float() const { return tilepost::to_float(tilepost::E4m3{__x}); }
};
