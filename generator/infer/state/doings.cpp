#include "generator/infer/state/doings.h"

namespace tilepost::inference {

std::vector<NodeId> roots_of(const Doings& doings) {
  std::vector<NodeId> list{0};
  for (const std::vector<Access>* accesses : {&doings.stores, &doings.reads})
    for (const Access& access : *accesses)
      list.insert(list.end(), {access.address, access.guard, access.pitch});
  for (const Meeting& meeting : doings.meetings)
    list.insert(list.end(), {meeting.guard, meeting.unsure, meeting.gone, meeting.lanes});
  return list;
}

double work_of(const Doings& doings, const KernelFacts& facts) {
  double work =
      static_cast<double>(doings.stores.size() + doings.reads.size() + doings.meetings.size());
  for (const int64_t count : facts.grid) work *= static_cast<double>(count);
  for (const int64_t count : facts.threads) work *= static_cast<double>(count);
  return work;
}

}  // namespace tilepost::inference
