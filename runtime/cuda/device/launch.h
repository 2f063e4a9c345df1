// Starts the woven GEMM. This file knows the ways in which a kernel takes its arguments, and checks
// what must hold of a kernel before it may be started.
#pragma once

#include "runtime/cuda/device/device.h"
#include "runtime/cuda/device/resources.h"
#include "runtime/cuda/device/tensor_maps.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

// Loads the kernel, gives it its shared memory, and checks that its largest grid can be resident as
// a whole. The kernel must be loaded before anything waits for it (CUDA C++ Programming Guide,
// "Lazy Loading", concurrent execution).
tilepost_result_t prepare_kernel(const tilepost_plan_t& plan, const DeviceInfo& device);

// The arguments of one launch, besides the plan.
struct GemmArguments {
  int32_t ctas;  // the grid
  tilepost_shape_t shape;
  const void* a;
  const void* b;
  void* c;                 // the output, or the staging buffer
  const TensorMaps* maps;  // TILEPOST_LAUNCH_TMA only
  tilepost_epilogue_t epilogue;
  tilepost_view_t view;
  int64_t out_rows;  // rows of c that the kernel may store to
  void* user;        // TILEPOST_LAUNCH_CUSTOM: the caller's argument for the launcher
};

tilepost_result_t launch_gemm(const tilepost_plan_t& plan, const GemmArguments& arguments,
                              cudaStream_t stream);

}  // namespace tilepost::cuda
