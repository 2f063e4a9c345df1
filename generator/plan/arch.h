// What the planner knows of each architecture.
#pragma once

#include <cstdint>

#include "generator/spec/spec.h"

namespace tilepost {

struct ArchInfo {
  Arch arch;
  int number;                     // tilepost_kernel_t::arch
  int default_sms;                // of the usual data-centre part
  int64_t shared_per_block;       // dynamic shared memory one block may ask for, bytes
  int64_t shared_per_sm;          // bytes
  int64_t shared_reserved;        // the driver's share per resident block, bytes
  int registers_per_sm;           // 32-bit
  int threads_per_sm;             // resident
  double tensor_flops_per_clock;  // dense, of 16-bit elements summed in fp32, per SM
  double clock_ghz;               // sustained under tensor load
};

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", for the limits.
// The host target counts its worker threads as SMs and has no limits of its own.
const ArchInfo& arch_info(Arch arch);

}  // namespace tilepost
