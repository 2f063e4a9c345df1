// The tasks of a kernel's helper warps as transports that share memory see them: where they read,
// wait and count.
#include <algorithm>

#include "runtime/cuda/shared/shared_transport.h"
#include "runtime/cuda/shared/tasks.h"
#include "runtime/cuda/watch/epoch.h"

namespace tilepost::cuda {

// Offsets of tasks are within this rank's shared memory; tasks that copy the caller's rows read and
// write what the run says.
tilepost_tasks_t SharedTransport::tasks() const {
  tilepost_tasks_t tasks{};
  const SharedLayout& layout = memory_.layout();
  tasks.in = memory_.own(0);
  tasks.stride = layout.slot_bytes;
  tasks.stored = own_counters();
  tasks.expected = flags_.expected;
  // Own rows that other ranks' are read with are waited for like these.
  tasks.done = pushes_rows(plan_) ? own_counters() : flags_.done;
  tasks.abort = &flags_.page->abort;
  tasks.rank = flags_.rank;
  tasks.ranks = flags_.ranks;
  return tasks;
}

// A run has begun when its numbers are expected; groups that it has none of are complete.
std::optional<OpenWait> SharedTransport::find_missing_tiles() {
  const std::vector<uint32_t> stored = access_.read(own_counters());
  const std::vector<uint32_t> expected = access_.read_words(flags_.expected);
  const auto groups = static_cast<size_t>(plan_.map.num_groups);
  for (size_t i = 0; i < std::min(stored.size(), expected.size()); ++i)
    if (!reached(stored[i], expected[i]))
      return OpenWait{i < groups ? Awaited::stored : Awaited::landed,
                      false,
                      static_cast<int>(i % groups),
                      {},
                      expected[i] - stored[i]};
  return {};
}

uint32_t* SharedTransport::own_counters() const {
  return flags_.of[flags_.rank] + counter_word(0, flags_.ranks);
}

}  // namespace tilepost::cuda
