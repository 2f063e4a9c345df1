#include "generator/harness/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "llvm/Support/DynamicLibrary.h"

namespace tilepost {
namespace {

using Library = llvm::sys::DynamicLibrary;

template <class Function>
Function* symbol(Library& library, const char* name) {
  return reinterpret_cast<Function*>(library.getAddressOfSymbol(name));
}

// CUDA Driver API: cuInit, cuDeviceGetCount, cuDeviceCanAccessPeer, cuDeviceGetAttribute,
// cuDeviceGet, cuDeviceGetPCIBusId, cuDeviceGetName, cuDriverGetVersion.
class Driver {
 public:
  Driver() : library_(Library::getPermanentLibrary("libcuda.so.1")) {
    if (!library_.isValid()) {
      reason_ = "no driver: libcuda.so.1 cannot be loaded";
      return;
    }
    const auto init = call<int(unsigned)>("cuInit");
    const auto get_count = call<int(int*)>("cuDeviceGetCount");
    if (init == nullptr || get_count == nullptr)
      reason_ = "libcuda.so.1 is not the CUDA driver's library";
    else if (const int result = init(0); result != 0)
      reason_ = fmt::format("cuInit failed with CUDA error {}", result);
    else if (get_count(&count_) != 0 || count_ == 0)
      reason_ = "the driver shows none";
    if (!reason_.empty()) count_ = 0;
  }
  int count() const { return count_; }
  // Why count() is 0.
  const std::string& reason() const { return reason_; }
  std::string bus_id(int gpu) { return text_of("cuDeviceGetPCIBusId", gpu); }
  std::string name(int gpu) { return text_of("cuDeviceGetName", gpu); }
  // Nothing where the driver does not tell.
  std::optional<int> attribute(int attribute, int gpu) {
    int device = 0, value = 0;
    const auto get_device = call<int(int*, int)>("cuDeviceGet");
    const auto get = call<int(int*, int, int)>("cuDeviceGetAttribute");
    const bool told = get_device != nullptr && get != nullptr && get_device(&device, gpu) == 0 &&
                      get(&value, attribute, device) == 0;
    return told ? std::optional(value) : std::nullopt;
  }
  // Whether every GPU reaches every other one's memory; nothing where the driver does not tell.
  std::optional<bool> reach_each_other() {
    const auto get = call<int(int*, int, int)>("cuDeviceCanAccessPeer");
    const auto get_device = call<int(int*, int)>("cuDeviceGet");
    if (get == nullptr || get_device == nullptr) return std::nullopt;
    for (int from = 0; from < count_; ++from)
      for (int to = 0; to < count_; ++to) {
        int one = 0, other = 0, reaches = 1;
        if (from != to && (get_device(&one, from) != 0 || get_device(&other, to) != 0 ||
                           get(&reaches, one, other) != 0 || reaches == 0))
          return false;
      }
    return true;
  }
  int version() {
    int version = 0;
    const auto get = call<int(int*)>("cuDriverGetVersion");
    return get != nullptr && get(&version) == 0 ? version : 0;
  }

 private:
  template <class Function>
  Function* call(const char* name) {
    return library_.isValid() ? symbol<Function>(library_, name) : nullptr;
  }
  std::string text_of(const char* function, int gpu) {
    std::array<char, 128> text{};
    int device = 0;
    const auto get_device = call<int(int*, int)>("cuDeviceGet");
    const auto get = call<int(char*, int, int)>(function);
    const bool told = get_device != nullptr && get != nullptr && get_device(&device, gpu) == 0 &&
                      get(text.data(), static_cast<int>(text.size()), device) == 0;
    return told ? text.data() : "";
  }

  Library library_;
  int count_ = 0;
  std::string reason_;
};

// nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3 (NVML API Reference).
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

// The processes on the GPU of this bus id. Empty where NVML does not tell.
std::vector<unsigned> processes_on(Library& nvml, const std::string& bus_id) {
  const auto find = symbol<int(const char*, void**)>(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto list =
      symbol<int(void*, unsigned*, ProcessInfo*)>(nvml, "nvmlDeviceGetComputeRunningProcesses_v3");
  void* device = nullptr;
  std::array<ProcessInfo, 64> infos{};
  unsigned count = infos.size();
  if (find == nullptr || list == nullptr || find(bus_id.c_str(), &device) != 0 ||
      list(device, &count, infos.data()) != 0)
    return {};
  std::vector<unsigned> pids;
  for (unsigned i = 0; i < count && i < infos.size(); ++i) pids.push_back(infos[i].pid);
  return pids;
}

}  // namespace

Gpus find_gpus() {
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
  Driver driver;
  if (driver.count() == 0) return {0, 0, driver.reason(), ""};
  const std::optional<int> major = driver.attribute(kMajor, 0), minor = driver.attribute(kMinor, 0);
  if (!major || !minor) return {0, 0, "the driver does not tell their compute capability", ""};
  return {driver.count(), 10 * *major + *minor, "", driver.name(0)};
}

std::string other_users_of_gpus(int most) {
  Driver driver;
  Library nvml = Library::getPermanentLibrary("libnvidia-ml.so.1");
  if (!nvml.isValid()) return "";
  const auto init = symbol<int()>(nvml, "nvmlInit_v2");
  if (init == nullptr || init() != 0) return "";
  std::string users;
  for (int gpu = 0; gpu < std::min(most, driver.count()); ++gpu)
    for (const unsigned pid : processes_on(nvml, driver.bus_id(gpu)))
      users += fmt::format("{}process {} on GPU {}", users.empty() ? "" : ", ", pid, gpu);
  if (const auto shutdown = symbol<int()>(nvml, "nvmlShutdown")) shutdown();
  return users;
}

std::string gpu_identity() {
  Driver driver;
  if (driver.count() == 0) return "";
  return fmt::format("{} x {}, driver {}", driver.count(), driver.name(0), driver.version());
}

void warn_of_other_machine(const MachineProfile& profile, Diagnostics& diagnostics) {
  Driver driver;
  if (driver.count() == 0) return;
  constexpr const char* kAdvice =
      "other plans may be faster; measure this machine with tilepost profile";
  const std::string gpu = driver.name(0);
  if (!gpu.empty() && gpu.find(profile.gpu) == std::string::npos)
    diagnostics.warning(
        {},
        fmt::format("the plans are made for the machine '{}', whose GPUs are '{}', and this GPU "
                    "is '{}': {}",
                    profile.words(), profile.gpu, gpu, kAdvice));
  if (driver.count() < 2) return;
  const char* const kept_apart = std::getenv("NCCL_P2P_DISABLE");
  const std::optional<bool> told = driver.reach_each_other();
  if (!told) return;
  const bool reach = *told && (kept_apart == nullptr || std::string_view(kept_apart) != "1");
  if (reach == profile.peers.peer_access) return;
  diagnostics.warning(
      {}, fmt::format("the plans are made for the machine '{}', whose GPUs {} each other's memory, "
                      "and the {} GPUs here {}: {}",
                      profile.words(), profile.peers.peer_access ? "reach" : "do not reach",
                      driver.count(), reach ? "do" : "do not", kAdvice));
}

int gpu_sms() {
  constexpr int kMultiprocessors = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  Driver driver;
  return driver.count() == 0 ? 0 : driver.attribute(kMultiprocessors, 0).value_or(0);
}

}  // namespace tilepost
