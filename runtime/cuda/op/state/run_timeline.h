// The measured timelines of an operation's runs (tilepost/timeline.h): stamps on the streams,
// beside those that the tiles of an instrumented kernel leave, and the file that is made of both.
#pragma once

#include <map>

#include "runtime/cuda/op/run.h"
#include "runtime/cuda/op/state/run_state.h"
#include "tilepost/internal/timeline_words.h"

namespace tilepost::cuda {

class RunTimeline {
 public:
  // All arguments outlive this object.
  RunTimeline(const tilepost_plan_t& plan, const char* program, RunState& state, const Lanes& lanes)
      : plan_(plan), program_(program), state_(state), lanes_(lanes) {}

  // Lets runs from here on be stamped.
  tilepost_result_t record();
  bool is_on() const { return on_; }

  // Notes that the run is being put on streams. Called, like stamp(), by the thread that issues it.
  // Both do nothing unless runs are recorded.
  void note(const Run& run);
  tilepost_result_t stamp(const Run& run, int group, TimelineWord word, cudaStream_t stream) const;
  // The line of a group, for kernels that stamp groups themselves. Null unless runs are recorded.
  uint64_t* line(const Run& run, int group) const;

  // Writes the run that began last. Requires that the runs have ended, but for replays.
  tilepost_result_t write(const char* path) const;

 private:
  // What the file says of a run besides its times.
  struct Noted {
    int64_t m = 0;
    int groups = 0;
    bool has_tiles = false;
  };
  struct Lines;

  tilepost_result_t read(Lines& lines) const;
  tilepost_result_t check(const Lines& lines, const Noted& run) const;
  std::string text_of(const Lines& lines, const Noted& run) const;

  const tilepost_plan_t& plan_;
  const char* const program_;
  RunState& state_;
  const Lanes& lanes_;
  bool on_ = false;
  Noted eager_;
  std::map<uint32_t, Noted> captured_;  // by the number of the captured run
};

}  // namespace tilepost::cuda
