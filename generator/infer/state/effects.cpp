#include "generator/infer/state/effects.h"

namespace tilepost::inference {

std::vector<NodeId> roots_of(const Effects& effects) {
  std::vector<NodeId> list{0};
  for (const std::vector<Access>* accesses : {&effects.stores, &effects.reads})
    for (const Access& access : *accesses)
      list.insert(list.end(), {access.address, access.guard, access.pitch});
  for (const Meeting& meeting : effects.meetings)
    list.insert(list.end(), {meeting.guard, meeting.unsure, meeting.gone, meeting.lanes});
  return list;
}

double work_of(const Effects& effects, const KernelFacts& facts) {
  double work =
      static_cast<double>(effects.stores.size() + effects.reads.size() + effects.meetings.size());
  for (const int64_t count : facts.grid) work *= static_cast<double>(count);
  for (const int64_t count : facts.threads) work *= static_cast<double>(count);
  return work;
}

}  // namespace tilepost::inference
