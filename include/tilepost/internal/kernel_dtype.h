// A dtype of a plan as kernels know it: for host code that chooses kernels by a plan's dtype.
#ifndef TILEPOST_INTERNAL_KERNEL_DTYPE_H
#define TILEPOST_INTERNAL_KERNEL_DTYPE_H

#include "tilepost/dtype.h"
#include "tilepost/mark.cuh"

namespace tilepost {

constexpr DType in_kernels(tilepost_dtype_t type) {
  return static_cast<DType>(type);
}

// DType has the enumerators of tilepost_dtype_t, and no others.
inline constexpr struct {
  DType value;
} kKernelDtypes[] = {{in_kernels(kDtypes[0].value)},
                     {in_kernels(kDtypes[1].value)},
                     {in_kernels(kDtypes[2].value)},
                     {in_kernels(kDtypes[3].value)}};
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
TILEPOST_CHECK_TABLE(DType, kKernelDtypes, value, 4)
#pragma GCC diagnostic pop
static_assert(sizeof kKernelDtypes / sizeof *kKernelDtypes == kNumDtypes);

}  // namespace tilepost

#endif  // TILEPOST_INTERNAL_KERNEL_DTYPE_H
