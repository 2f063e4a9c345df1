#include "runtime/cuda/watch/watch_page.h"

namespace tilepost::cuda {
namespace {

// The kind of waits that have their places in a row. A row has kMostPeers places of one kind, and
// for flags of one lane, by source rank.
Awaited kind_of(int row) {
  if (row < kMostLanes) return Awaited::block;
  if (row < kFlags * kMostLanes) return Awaited::sums;
  if (row == kFlags * kMostLanes) return Awaited::ended;
  if (row == kFlags * kMostLanes + 3) return Awaited::begun;
  return row == kFlags * kMostLanes + 1 ? Awaited::stored : Awaited::added;
}

// Whether a place of this kind belongs to a group. If not, it belongs to a rank.
bool is_of_group(Awaited what) {
  return what == Awaited::stored || what == Awaited::added;
}

int group_of(Awaited what, const SharedWait& wait) {
  const bool of_run = what == Awaited::ended || what == Awaited::begun;
  return of_run ? -1 : static_cast<int>(wait.group);
}

bool comes_before(const OpenWait& one, const OpenWait& other) {
  if (one.gave_up != other.gave_up) return one.gave_up;
  return one.group < other.group;
}

}  // namespace

std::optional<OpenWait> find_open_wait(const SharedWait* waits) {
  std::optional<OpenWait> first;
  for (int i = 0; i < kSharedWaits; ++i) {
    const uint32_t state = load(waits[i].state);
    if (state == kNoWait) continue;
    const Awaited what = kind_of(i / kMostPeers);
    OpenWait wait{what, state == kGaveUp, group_of(what, waits[i]), {}, 0};
    if (is_of_group(what))
      wait.missing = waits[i].wanted - waits[i].seen;
    else
      wait.ranks = {i % kMostPeers};
    if (!first || comes_before(wait, *first))
      first = wait;
    else if (!is_of_group(what) && what == first->what && !comes_before(*first, wait))
      first->ranks.push_back(i % kMostPeers);
  }
  return first;
}

}  // namespace tilepost::cuda
