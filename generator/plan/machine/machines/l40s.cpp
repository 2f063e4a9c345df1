// Four L40S in slots of PCIe 4 x16, as an estimate. NVIDIA's L40S data sheet: 142 SMs, 362 TFLOP/s
// of dense bf16, 864 GB/s of memory, 350 W, which bound the clock under load below its 2.52 GHz.
// Peer access depends on the host's switches. It is taken to be missing, for a plan without it runs
// on every host. Links are as those of four RTX 4090.
#include "generator/plan/machine/estimates.h"

namespace tilepost {

MachineProfile machine_l40s() {
  constexpr double kReached = 0.885, kMibOver12GBs = 84, kMibOver20GBs = 52, kAtPowerLimit = 0.7;
  MachineProfile p = estimate_from_h200();
  p.name = "4 x L40S, PCIe 4";
  p.gpu = "L40S";
  p.arch = Arch::sm_89;
  set_chip(p, 142, kReached * 8.64e5, 2.52);
  scale_ampere(p, kAtPowerLimit);
  without_peer_access(p, kMibOver12GBs, kMibOver20GBs);
  return p;
}

}  // namespace tilepost
