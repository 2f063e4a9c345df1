// Two H200 on PCIe 5 whose GPUs do not reach each other, as NCCL_P2P_DISABLE=1 makes them for NCCL.
// docs/internals/machine.md says how each number was measured.
#include "generator/plan/machine/estimates.h"

namespace tilepost {

MachineProfile machine_h200();

MachineProfile machine_h200_no_peers() {
  constexpr double kNcclUsPerMib = 42.6, kCopyUsPerMib = 27;
  MachineProfile p = machine_h200();
  p.name = "2 x H200, no peer access";
  without_peer_access(p, kNcclUsPerMib, kCopyUsPerMib);
  for (CollectiveProfiles* profiles : {&p.collectives.sequence, &p.collectives.groups}) {
    scale_links(profiles->at(Collective::all_reduce), 38.1 / kNcclUsPerMib);
    scale_links(profiles->at(Collective::all_to_all), 45.0 / kNcclUsPerMib);
  }
  return p;
}

}  // namespace tilepost
