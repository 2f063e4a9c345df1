#include "runtime/bench/machine.h"

#include <cublasLt.h>
#include <nccl.h>

#include <array>

#include "runtime/bench/error.h"
#include "runtime/bench/record.h"
#include "runtime/verify/text.h"

namespace tilepost::bench {
namespace {

// 13010 is 13.1 (CUDA Runtime API, cudaRuntimeGetVersion).
std::string cuda_version(int version) {
  return verify::format("%d.%d", version / 1000, version % 1000 / 10);
}

// 130100 is 13.1.0 (cublasLtGetVersion), 22803 is 2.28.3 (ncclGetVersion).
std::string three_parts(size_t version, size_t major, size_t minor) {
  return verify::format("%zu.%zu.%zu", version / major, version % major / minor, version % minor);
}

}  // namespace

Machine read_machine() {
  Machine machine;
  TILEPOST_BENCH_CUDA(cudaGetDeviceCount(&machine.gpus));
  check_tilepost(cuda::read_device(0, machine.device), "read_device");
  cudaDeviceProp properties{};
  TILEPOST_BENCH_CUDA(cudaGetDeviceProperties(&properties, 0));
  machine.product = properties.name;
  std::array<char, 32> bus{};
  TILEPOST_BENCH_CUDA(cudaDeviceGetPCIBusId(bus.data(), bus.size(), 0));
  machine.bus_id = bus.data();
  return machine;
}

void print_machine(const Machine& machine, const Nvml& nvml) {
  int driver = 0, runtime = 0, nccl = 0, l2_bytes = 0;
  size_t free_bytes = 0, total_bytes = 0;
  TILEPOST_BENCH_CUDA(cudaDriverGetVersion(&driver));
  TILEPOST_BENCH_CUDA(cudaRuntimeGetVersion(&runtime));
  TILEPOST_BENCH_CUDA(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0));
  TILEPOST_BENCH_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  TILEPOST_BENCH_STATUS(ncclGetVersion(&nccl));
  Record("machine")
      .set("gpu", machine.product)
      .set("gpus", machine.gpus)
      .set("sms", machine.device.sms)
      .set("sm", machine.device.sm)
      .set("l2_bytes", l2_bytes)
      .set("memory_bytes", static_cast<long long>(total_bytes))
      .set("power_limit_watts", nvml.watts_allowed())
      .set("driver", nvml.driver_version())
      .set("driver_cuda", cuda_version(driver))
      .set("cuda", cuda_version(runtime))
      .set("cublaslt", three_parts(cublasLtGetVersion(), 10000, 100))
      .set("nccl", three_parts(static_cast<size_t>(nccl), 10000, 100));
}

}  // namespace tilepost::bench
