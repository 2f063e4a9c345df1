// Four A100 SXM (80 GB) with NVLink, as an estimate. NVIDIA's A100 data sheet: 108 SMs, 312 TFLOP/s
// of bf16 at 1.41 GHz, 2.04 TB/s of memory, NVLink of 600 GB/s, two thirds of H200's. Of memory
// 0.885 was measured on H200. Kernels of mma.sync are guesses on all machines.
#include "generator/plan/machine/estimates.h"

namespace tilepost {

MachineProfile machine_a100() {
  constexpr double kReached = 0.885, kLinks = 900.0 / 600;
  MachineProfile p = estimate_from_h200();
  p.name = "4 x A100, NVLink";
  p.gpu = "A100";
  p.arch = Arch::sm_80;
  set_chip(p, 108, kReached * 2.04e6, 1.41);
  slow_links(p, kLinks);
  return p;
}

}  // namespace tilepost
