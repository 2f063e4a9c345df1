#include "runtime/bench/nvml.h"

#include <dlfcn.h>

#include <array>

namespace tilepost::bench {
namespace {

// Signatures and numbers: NVML API Reference, nvmlInit_v2, nvmlDeviceGetHandleByPciBusId_v2,
// nvmlDeviceGetClockInfo with NVML_CLOCK_SM, nvmlDeviceGetPowerUsage,
// nvmlDeviceGetEnforcedPowerLimit, nvmlSystemGetDriverVersion. NVML_SUCCESS is 0.
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

}  // namespace tilepost::bench
