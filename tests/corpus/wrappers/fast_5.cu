#include "fast_tma.h"
#include "matmul_5.cuh"

cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  return launch_with_maps(call, 128, 256);
}
