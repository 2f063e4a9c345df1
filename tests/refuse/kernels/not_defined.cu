#include <tilepost/mark.cuh>
__global__ void gemm(float* c);
// expect: 2:17: error: kernel 'gemm' is declared here, but not defined in this file
