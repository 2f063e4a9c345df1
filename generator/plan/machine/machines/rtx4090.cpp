// Four RTX 4090 in slots of PCIe 4 x16, as an estimate. NVIDIA's Ada architecture paper: 128 SMs,
// 165 TFLOP/s of bf16 summed in fp32 at 2.52 GHz, half of what an SM of an L40S does in a cycle;
// 1.01 TB/s of memory. GeForce drivers give no peer access. Two RTX 5070 Ti on the same bus carry
// 12.5 GB/s by copy engines (sgl-project/sglang#39605), and NCCL half of what copy engines do
// between two H100 on PCIe 5 (docs/internals/machine.md, Estimates).
#include "generator/plan/machine/estimates.h"

namespace tilepost {

MachineProfile machine_rtx4090() {
  constexpr double kReached = 0.885, kMibOver12GBs = 84, kMibOver20GBs = 52;
  MachineProfile p = estimate_from_h200();
  p.name = "4 x RTX 4090, PCIe 4";
  p.gpu = "RTX 4090";
  p.arch = Arch::sm_89;
  set_chip(p, 128, kReached * 1.008e6, 2.52);
  scale_ampere(p, 0.5);
  without_peer_access(p, kMibOver12GBs, kMibOver20GBs);
  return p;
}

}  // namespace tilepost
