// Declarations that the author's main file has before the kernel.
#include <cuda_bf16.h>

typedef __nv_bfloat16 bf16;

#include "matmul_1.cuh"
