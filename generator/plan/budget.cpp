#include "generator/plan/budget.h"

#include <algorithm>

namespace tilepost {
namespace {

// A cluster fits only where a processing cluster of SMs has as many left: of 132 SMs, 39 clusters
// of 3, 30 of 4 and 15 of 8 are resident at once (measured on an H200), and more would run as a
// second round.
int resident_sms(const ArchInfo& arch, int sms, int cluster) {
  if (cluster <= 2 || arch.arch != Arch::sm_90a) return sms;
  return std::min(sms, cluster == 3 ? 117 : 120);
}

}  // namespace

int gemm_grid(const ArchInfo& arch, int sms, int comm_ctas, bool overlap, int cluster,
              int ctas_per_sm, int64_t wanted) {
  const int left = overlap ? sms - comm_ctas - 1 : sms;
  const int64_t ctas = int64_t{std::min(left, resident_sms(arch, sms, cluster))} * ctas_per_sm;
  return static_cast<int>(std::max<int64_t>(std::min(ctas, wanted), 0) / cluster * cluster);
}

std::vector<CommChoice> comm_choices(Arch arch, int sms) {
  if (arch == Arch::host) return {{1, 1}};
  std::vector<CommChoice> choices;
  for (const int ctas : {8, 12, 16, 20, 24})
    if (2 * ctas <= sms) choices.push_back({ctas, 1});
  // Where the model sees no difference, two lanes of 14 or 16 were measured best.
  for (const int ctas : {28, 32, 24, 36, 40, 16})
    if (2 * ctas <= sms) choices.push_back({ctas, 2});
  if (choices.empty()) choices.push_back({std::max(1, sms / 4), 1});
  return choices;
}

}  // namespace tilepost
