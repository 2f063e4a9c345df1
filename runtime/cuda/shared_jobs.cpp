// The jobs of a kernel's spare warps as transports that share memory see them: where they read,
// wait and count.
#include <algorithm>

#include "runtime/cuda/epoch.h"
#include "runtime/cuda/jobs.h"
#include "runtime/cuda/shared_transport.h"

namespace tilepost::cuda {

// Offsets of jobs are within this rank's shared memory; jobs that copy the caller's rows read and
// write what the run says.
tilepost_jobs_t SharedTransport::jobs() const {
  tilepost_jobs_t jobs{};
  const SharedLayout& layout = memory_.layout();
  jobs.in = memory_.own(0);
  jobs.stride = layout.slot_bytes;
  jobs.stored = own_counters();
  jobs.expected = words_.expected;
  // Own rows that other ranks' are read with are waited for like these.
  jobs.done = pushes_rows(plan_) ? own_counters() : words_.done;
  jobs.abort = &words_.record->abort;
  jobs.rank = words_.rank;
  jobs.ranks = words_.ranks;
  return jobs;
}

// A run has begun when its numbers are expected; groups that it has none of are complete.
std::optional<OpenWait> SharedTransport::find_missing_tiles() {
  const std::vector<uint32_t> stored = access_.read(own_counters());
  const std::vector<uint32_t> expected = access_.read_words(words_.expected);
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
  return words_.words[words_.rank] + counter_word(0, words_.ranks);
}

}  // namespace tilepost::cuda
