// What a machine profile knows of collectives, by NCCL or out of symmetric windows.
#pragma once

#include <map>
#include <vector>

#include "generator/plan/machine/points.h"
#include "runtime/map/patterns.h"

namespace tilepost {

// A budget for moving groups: CTAs, and the lanes that share them.
struct CommChoice {
  int ctas, lanes;
};

// One collective: latency + bytes * us_per_mib(CTAs). Bytes are those of the largest buffer on a
// rank: what is reduced, what is gathered, what is exchanged.
struct CollectiveProfile {
  double sent;                           // every rank sends sent * (ranks - 1) / ranks of the bytes
  std::vector<ProfilePoint> us_per_mib;  // against CTAs, over most_ranks ranks
  std::vector<ProfilePoint> latency_us;  // against ranks, the cost of one more collective
  std::vector<ProfilePoint> wire_us_per_mib;  // floor per MiB that a rank sends, against ranks
  std::vector<ProfilePoint> beside_gemm;      // us per MiB next to a GEMM over alone, against CTAs
  // Several lanes hide all but lane_latency / lanes of the latency of each collective, except the
  // last one's.
  double lane_latency;
};

// The collectives that were measured. Patterns that do the same have the same times.
enum class Collective {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  chunks,  // rows of A by sends and receives, beside a GEMM that reads what they bring
};
using CollectiveProfiles = std::map<Collective, CollectiveProfile>;

// The collective that a pattern runs once without overlap, and the one that it runs for every group
// beside the GEMM. Both require a pattern that communicates.
Collective whole_collective(const PatternRow& row);
Collective group_collective(const PatternRow& row);

// All collectives, and what goes on around them.
struct CollectivesProfile {
  CollectiveProfiles sequence;   // for a run without overlap
  CollectiveProfiles groups;     // for each group, or chunk, beside the GEMM
  CollectiveProfiles symmetric;  // the same out of symmetric windows
  // Budgets to try where the spec leaves them open, in order of preference among equals.
  std::vector<CommChoice> choices, symmetric_choices;
  int least_lane_ctas;  // CTAs of a lane: with fewer a second lane is not worth it
  int most_ranks;       // to which the tables over CTAs apply; nothing was measured on more
  double lane_share;    // several lanes are as fast as one on this part of their CTAs
  std::vector<ProfilePoint> lane_beside_gemm;  // as beside_gemm, against the CTAs of one lane
  int default_ctas;                            // what NCCL takes when it may choose
  // Time between collectives: from the counter's last raise, or from the end of the collective
  // before, to the start of the next. `stream_wait_us` is this time with cuStreamWaitValue32 in
  // place of the poll.
  double wait_us, stream_wait_us;
  double step_us;  // AllGather: a copy or a post between collectives on the stream
  // Rows of A that streams bring beside the GEMM: time from the GEMM's start until the host has
  // issued what brings the first of these rows, and what announces them to the GEMM.
  double issue_us;

  // From a counter's last raise, or from the end of the collective before, to the start of the
  // collective that waits for it; us.
  double wait_of(tilepost_wait_t wait) const {
    return wait == TILEPOST_WAIT_STREAM ? stream_wait_us : wait_us;
  }
};

}  // namespace tilepost
