// Declarations that the author's other headers have before the kernel.
#include <algorithm>

constexpr int WARPSIZE = 32;

#include "12_kernel_double_buffering.cuh"
