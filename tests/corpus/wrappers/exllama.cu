// Declarations that the author's main file has before the kernel.
#include <cuda_fp16.h>

#include <cstdint>

#include "matrix_view.cuh"
#include "q_gemm.cuh"
#include "quant/qdq_4.cuh"
#include "util.cuh"
#define MAX_Q_GEMM_ROWS 32
#define BLOCK_KN_SIZE 128
#define BLOCK_M_SIZE_MAX 8
#include "compat.cuh"
#include "q_gemm_kernel_gptq.cuh"
