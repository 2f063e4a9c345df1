// The SM clock, the power drawn and the driver's version, as far as NVML tells them.
#pragma once

#include <string>

namespace tilepost::bench {

// NVML is looked up at run time: a machine without it is measured all the same.
class Nvml {
 public:
  // Of the GPU with this PCI bus id, "00000000:18:00.0".
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

}  // namespace tilepost::bench
