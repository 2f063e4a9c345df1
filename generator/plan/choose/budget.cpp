#include "generator/plan/choose/budget.h"

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

// In order of preference among equals.
std::vector<CommChoice> choices_of(tilepost_transport_t transport, bool sums) {
  switch (transport) {
    case TILEPOST_TRANSPORT_COPY_ENGINE:
    case TILEPOST_TRANSPORT_PEER: {
      std::vector<CommChoice> choices;
      for (const int ctas : sums ? std::vector<int>{3, 7, 11} : std::vector<int>{1})
        for (const int lanes : {3, 2, 1}) choices.push_back({ctas, lanes});
      return choices;
    }
    case TILEPOST_TRANSPORT_NCCL_SYMMETRIC:
      return {{8, 1}, {7, 1}, {9, 1}, {12, 1}, {16, 1}, {16, 2}, {18, 2}};
    case TILEPOST_TRANSPORT_NCCL:
    case TILEPOST_TRANSPORT_NONE:
    case TILEPOST_TRANSPORT_HOST:
      break;
  }
  // Where the model sees no difference, two lanes of 14 or 16 were measured best.
  return {{8, 1},  {12, 1}, {16, 1}, {20, 1}, {24, 1}, {28, 2},
          {32, 2}, {24, 2}, {36, 2}, {40, 2}, {16, 2}};
}

}  // namespace

int gemm_grid(const ArchInfo& arch, int sms, int comm_ctas, bool overlap, int cluster,
              int ctas_per_sm, int64_t wanted) {
  const int left = overlap && comm_ctas > 0 ? sms - comm_ctas - 1 : sms;
  const int64_t ctas = int64_t{std::min(left, resident_sms(arch, sms, cluster))} * ctas_per_sm;
  return static_cast<int>(std::max<int64_t>(std::min(ctas, wanted), 0) / cluster * cluster);
}

std::vector<CommChoice> comm_choices(Arch arch, int sms, tilepost_transport_t transport,
                                     bool sums) {
  if (arch == Arch::host) return {{1, 1}};
  std::vector<CommChoice> choices = choices_of(transport, sums);
  std::erase_if(choices, [&](const CommChoice& choice) { return 2 * choice.ctas > sms; });
  if (choices.empty()) choices.push_back({std::max(1, sms / 4), 1});
  return choices;
}

std::vector<CommChoice> choices_beside_tasks(bool announces) {
  return {{announces ? 1 : 0, 1}};
}

}  // namespace tilepost
