// Eight H100 SXM behind NVSwitch, as an estimate. NVIDIA's H100 data sheet has the same 132 SMs and
// NVLink (900 GB/s) as that of H200, and 3.35 TB/s of memory in place of 4.8. The formula of
// gemm_sm90 was fitted to both (docs/internals/machine.md). On eight ranks a rank sends 7/6 of what
// it sends on four.
#include "generator/plan/machine/estimates.h"

namespace tilepost {

MachineProfile machine_h100() {
  constexpr double kMemoryOfH200 = 3.35 / 4.8, kSent = 7.0 / 6;
  MachineProfile p = estimate_from_h200();
  p.name = "8 x H100, NVLink";
  p.gpu = "H100";
  set_chip(p, 132, p.chip.memory_bytes_per_us * kMemoryOfH200, p.chip.max_ghz);
  // The same links, but tables of times against CTAs are over all eight ranks.
  CollectivesProfile& all = p.collectives;
  for (CollectiveProfiles* profiles : {&all.sequence, &all.groups, &all.symmetric})
    for (auto& [which, collective] : *profiles)
      for (ProfilePoint& point : collective.us_per_mib) point.y *= kSent;
  all.most_ranks = 8;
  return p;
}

}  // namespace tilepost
