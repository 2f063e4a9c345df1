// What a machine profile knows of collectives, by NCCL or out of symmetric windows.
#pragma once

#include <map>
#include <vector>

#include "generator/plan/machine/points.h"
#include "runtime/map/patterns.h"

namespace tilepost {

// Where groups may be moved: CTAs for it, and the lanes that share them.
struct CommChoice {
  int ctas, lanes;
};

// One collective: latency + bytes * us_per_mib(CTAs). Bytes are those of the largest buffer on a
// rank: what is reduced, what is gathered, what is exchanged.
struct CollectiveProfile {
  double sent;  // of the bytes, times (ranks - 1) / ranks: what every rank sends
  std::vector<ProfilePoint> us_per_mib;       // against CTAs, over collective_ranks ranks
  std::vector<ProfilePoint> latency_us;       // against ranks, the cost of one more collective
  std::vector<ProfilePoint> wire_us_per_mib;  // floor per MiB that a rank sends, against ranks
  std::vector<ProfilePoint> beside_gemm;      // us per MiB next to a GEMM over alone, against CTAs
  // Of each collective's latency several lanes hide all but lane_latency / lanes, except the last
  // one's.
  double lane_latency;
};

// What was measured. Patterns that do the same take the same.
enum class Collective {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  chunks,  // rows of A by sends and receives, beside a GEMM that reads what they bring
};
using CollectiveProfiles = std::map<Collective, CollectiveProfile>;

// What such a pattern does once without overlap, and for every group beside the GEMM. Requires that
// it communicates.
Collective whole_collective(const PatternRow& row);
Collective group_collective(const PatternRow& row);

// All of them, and what goes on around them.
struct CollectivesProfile {
  CollectiveProfiles sequence;   // the one of a run without overlap
  CollectiveProfiles groups;     // one for each group, or chunk, beside the GEMM
  CollectiveProfiles symmetric;  // the same out of symmetric windows
  // To try where the spec leaves it open, in order of preference among equals.
  std::vector<CommChoice> choices, symmetric_choices;
  int least_lane_ctas;  // CTAs of a lane: with fewer a second lane is not worth it
  int most_ranks;       // of the tables over CTAs; nothing was measured on more
  double lane_share;    // several lanes are as fast as one on this part of their CTAs
  std::vector<ProfilePoint> lane_beside_gemm;  // as beside_gemm, against the CTAs of one lane
  int default_ctas;                            // what NCCL takes when it may choose
  // Between collectives: from the counter's last raise, or from the end of the one before, to the
  // start of the next; with cuStreamWaitValue32 in place of the poll `stream_wait_us`.
  double wait_us, stream_wait_us;
  double step_us;  // AllGather: a copy or a post between collectives on the stream
  // Rows of A that streams bring beside the GEMM: from its start until the host has issued what
  // brings the first of them and tells the GEMM so.
  double issue_us;

  // From a counter's last raise, or from the end of the collective before, to the start of the
  // collective that waits for it; us.
  double wait_of(tilepost_wait_t wait) const {
    return wait == TILEPOST_WAIT_STREAM ? stream_wait_us : wait_us;
  }
};

}  // namespace tilepost
