// The machine that is measured, and what NVML reports about it: the SM clock, the power drawn, the
// driver's version.
#pragma once

#include <string>

#include "runtime/cuda/device/device.h"

namespace tilepost::bench {

// NVML is looked up at run time, so that a machine without NVML can be measured too.
class Nvml {
 public:
  // Opens NVML for the GPU with this PCI bus id, such as "00000000:18:00.0".
  explicit Nvml(const std::string& bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;  // "" if unknown
  double sm_clock_mhz() const;         // 0 if unknown
  double watts() const;                // 0 if unknown
  double watts_allowed() const;        // 0 if unknown

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
};

struct Machine {
  int gpus = 0;
  cuda::DeviceInfo device;  // of GPU 0, on which kernels are measured alone
  std::string product;      // such as "NVIDIA H200"
  std::string bus_id;       // of GPU 0
};

// Throws BenchError if there is no GPU.
Machine read_machine();

// Prints the machine record.
void print_machine(const Machine& machine, const Nvml& nvml);

}  // namespace tilepost::bench
