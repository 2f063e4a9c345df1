#include "runtime/verify/cuda/cuda_runner.h"

#include <algorithm>

#include "runtime/cuda/device/launch.h"
#include "runtime/map/tile_map.h"
#include "runtime/verify/cuda/cuda_device.h"
#include "runtime/verify/cuda/kernels.h"

namespace tilepost::verify {

CudaRunner::CudaRunner(const tilepost_plan_t& plan, const harness::PlainLaunch& plain,
                       cudaStream_t stream)
    : plan_(plan), plain_(plain), stream_(stream) {
  int ordinal = 0;
  check_cuda(cudaGetDevice(&ordinal), "cudaGetDevice");
  cuda::DeviceInfo device;
  check(cuda::read_device(ordinal, device), "read_device");
  check(cuda::prepare_kernel(plan, device), "prepare_kernel");
}

void CudaRunner::upload(void* to, const void* from, int64_t bytes) {
  check_cuda(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream_),
             "cudaMemcpyAsync");
}

void CudaRunner::fill(uint32_t* memory, int64_t words, int which) {
  check_cuda(fill_words(memory, words, which, stream_), "fill_words");
}

void CudaRunner::run_woven(const Operands& operands, void* c, const tilepost_tile_t* tiles,
                           int32_t count, uint32_t* counters) {
  cuda::GemmArguments arguments{};
  arguments.ctas = plan_.kernel.tile_per_cta != 0 ? count : std::min(count, plan_.gemm_ctas);
  arguments.shape = operands.shape;
  arguments.a = operands.a;
  arguments.b = operands.b;
  arguments.c = c;
  arguments.out_rows = operands.out_rows;
  arguments.user = const_cast<void**>(operands.user);
  arguments.view.tiles = tiles;
  arguments.view.num_tiles = count;
  arguments.view.tiles_n = tiles_n(plan_.map);
  arguments.view.counters = counters;
  check(cuda::launch_gemm(plan_, arguments, stream_), "launch_gemm");
}

void CudaRunner::run_plain(const Operands& operands, void* c) {
  check_cuda(static_cast<cudaError_t>(
                 plain_.launch(operands.a, operands.b, c, operands.shape, operands.user, stream_)),
             plain_.name);
}

void CudaRunner::look(const Look& look, uint32_t* found) {
  check_cuda(look_at_all(look, found, stream_), "look_at_all");
}

void CudaRunner::finish() {
  check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

}  // namespace tilepost::verify
