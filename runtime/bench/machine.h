// What is measured on.
#pragma once

#include "runtime/bench/nvml.h"
#include "runtime/cuda/device/device.h"

namespace tilepost::bench {

struct Machine {
  int gpus = 0;
  cuda::DeviceInfo device;  // GPU 0, on which kernels are measured alone
  std::string product;      // "NVIDIA H200"
  std::string bus_id;       // of GPU 0
};

// Throws BenchError where there is no GPU.
Machine read_machine();

// Prints the machine record.
void print_machine(const Machine& machine, const Nvml& nvml);

}  // namespace tilepost::bench
