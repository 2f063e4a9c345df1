#include "runtime/bench/gpu/machine.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <nccl.h>

#include <array>

#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/record.h"
#include "runtime/harness/text.h"

namespace tilepost::bench {
namespace {

// For example, 13010 is 13.1 (CUDA Runtime API, cudaRuntimeGetVersion).
std::string cuda_version(int version) {
  return harness::format("%d.%d", version / 1000, version % 1000 / 10);
}

// For example, 130100 is 13.1.0 (cublasLtGetVersion), and 22803 is 2.28.3 (ncclGetVersion).
std::string three_parts(size_t version, size_t major, size_t minor) {
  return harness::format("%zu.%zu.%zu", version / major, version % major / minor, version % minor);
}

// The signatures and numbers are from the NVML API Reference: nvmlInit_v2,
// nvmlDeviceGetHandleByPciBusId_v2, nvmlDeviceGetClockInfo with NVML_CLOCK_SM,
// nvmlDeviceGetPowerUsage, nvmlDeviceGetEnforcedPowerLimit, nvmlSystemGetDriverVersion.
// NVML_SUCCESS is 0.
constexpr int kClockSm = 1;

template <class Function>
Function* symbol(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

double milliwatts(void* library, void* device, const char* name) {
  const auto get = symbol<int(void*, unsigned*)>(library, name);
  unsigned value = 0;
  return device != nullptr && get != nullptr && get(device, &value) == 0 ? value : 0;
}

}  // namespace

Nvml::Nvml(const std::string& bus_id) : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
  const auto init = symbol<int()>(library_, "nvmlInit_v2");
  const auto find = symbol<int(const char*, void**)>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || find == nullptr || init() != 0) return;
  if (find(bus_id.c_str(), &device_) != 0) device_ = nullptr;
}

Nvml::~Nvml() {
  if (const auto shutdown = symbol<int()>(library_, "nvmlShutdown")) shutdown();
  if (library_ != nullptr) dlclose(library_);
}

std::string Nvml::driver_version() const {
  const auto get = symbol<int(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  std::array<char, 96> text{};
  if (get == nullptr || get(text.data(), text.size()) != 0) return "";
  return text.data();
}

double Nvml::sm_clock_mhz() const {
  const auto get = symbol<int(void*, int, unsigned*)>(library_, "nvmlDeviceGetClockInfo");
  unsigned mhz = 0;
  return device_ != nullptr && get != nullptr && get(device_, kClockSm, &mhz) == 0 ? mhz : 0;
}

double Nvml::watts() const {
  return milliwatts(library_, device_, "nvmlDeviceGetPowerUsage") / 1000;
}

double Nvml::watts_allowed() const {
  return milliwatts(library_, device_, "nvmlDeviceGetEnforcedPowerLimit") / 1000;
}

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
