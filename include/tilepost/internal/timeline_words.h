// Where an instrumented run notes its times on the device: in the line of each group's counter,
// behind the counter.
#ifndef TILEPOST_TIMELINE_WORDS_H
#define TILEPOST_TIMELINE_WORDS_H

#include "tilepost/plan.h"

namespace tilepost {

// 64-bit words of a group's line, in ns of the device's clock. Each has the latest time of its kind
// so far, so that nothing need be cleared between runs. Word 0 has the counter.
enum TimelineWord {
  kTilesEnd = 1,  // the group's last tile was computed
  kStepsBegin,    // the group's communication could begin
  kStepsEnd,      // it ended
  kRunBegin,      // the run began; in the line of group 0 alone
  kRunEnd,        // it ended; likewise
};

// 64-bit words from one line to the next.
constexpr int kTimelineStride = TILEPOST_COUNTER_STRIDE / 2;

}  // namespace tilepost

#endif  // TILEPOST_TIMELINE_WORDS_H
