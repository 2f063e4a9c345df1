// What the author's file with the launch has in front of the kernel.
#include <cuda_fp16.h>

#include <cassert>
#include <cstdint>
#include <type_traits>

// The author says it of what is no pointer, which nvcc alone takes.
#define __restrict__

#include "kernel_matmul.cuh"
