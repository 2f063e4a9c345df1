// The jobs of a kernel's spare warps as transports that share memory see them: where they read,
// wait and count.
#include <algorithm>

#include "runtime/cuda/epoch.h"
#include "runtime/cuda/shared_transport.h"

namespace tilepost::cuda {

// Jobs that copy the caller's rows read and write what the run says.
tilepost_jobs_t SharedTransport::jobs() const {
  tilepost_jobs_t jobs{};
  const SharedLayout& layout = memory_.layout();
  const bool moves = plan_.job_parts == 1;
  jobs.in = memory_.own(moves ? layout.landed : layout.slots);
  if (!moves) jobs.stride = layout.slot_bytes;
  jobs.stored = tile_counters();
  jobs.expected = words_.expected;
  jobs.done = words_.done;
  jobs.abort = &words_.record->abort;
  return jobs;
}

// A run has begun when its numbers are expected; groups that it has none of are complete.
std::optional<OpenWait> SharedTransport::find_missing_tiles() {
  const std::vector<uint32_t> stored = access_.read(tile_counters());
  const std::vector<uint32_t> expected = access_.read_words(words_.expected);
  for (size_t g = 0; g < std::min(stored.size(), expected.size()); ++g)
    if (!reached(stored[g], expected[g]))
      return OpenWait{Awaited::stored, false, static_cast<int>(g), {}, expected[g] - stored[g]};
  return {};
}

const uint32_t* SharedTransport::tile_counters() const {
  return words_.words[words_.rank] + counter_word(0, words_.ranks);
}

}  // namespace tilepost::cuda
