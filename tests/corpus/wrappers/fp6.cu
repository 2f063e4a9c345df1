// Declarations that the author's file with the launch has before the kernel.
#include <cuda_fp16.h>

#include <cassert>
#include <cstdint>
#include <type_traits>

// The author writes __restrict__ where there is no pointer, which only nvcc accepts.
#define __restrict__

#include "kernel_matmul.cuh"
