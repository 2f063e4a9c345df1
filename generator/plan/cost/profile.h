// The machine the planner predicts for: every measured constant of the model in one place, so that
// a profile of another machine can take this one's.
#pragma once

#include <vector>

namespace tilepost {

// One row of a table: y at x, interpolated linearly, held constant outside.
struct ProfilePoint {
  double x, y;
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

// tilepost_transport_t copy_engine: every rank copies what it needs out of all other ranks' memory
// at once, but rows of A, which it copies there, for one rank after the other.
struct CopyProfile {
  std::vector<ProfilePoint> us_per_mib;  // per MiB that a rank sends, against ranks
  double latency_us;                     // of a group: the ranks tell each other, the copies start
  double beside_copies;                  // GEMM time next to them, against alone
  double lane_latency;                   // CollectiveProfile::lane_latency
  double both_ways;                      // AllReduce: parts and sums, of the time of either
  // AllGather, whose rows are pushed beside the GEMM: per MiB that a rank sends, against ranks; and
  // by how much the GEMM then takes longer.
  std::vector<ProfilePoint> rows_us_per_mib, slow_us_per_mib;
  double push_us;    // of a chunk
  double landed_us;  // until they know that it is there
};

// tilepost_transport_t peer: the kernel stores into other ranks' memory.
struct StoreProfile {
  double us_per_mib;       // per MiB that a rank stores elsewhere, whichever of its warps do
  double both_us_per_mib;  // where sums share the links with tiles that are not all there yet
  double latency_us;       // until the owner sees what was stored last
  double beside_stores;    // GEMM time with stores that it does not wait for
  double drain;  // of the stores of a wave, what is left to do when the last one is computed: the
                 // own rows come last
};

// Adding up parts, or copying them: bytes read and written.
struct SumProfile {
  double sm_bytes_per_us;      // on one SM that the GEMM leaves free
  double memory_bytes_per_us;  // on all SMs, when the GEMM has ended
  double unawaited;            // of the time of sums, where no rank waits for another's
};

// The same as tasks of the GEMM's helper warps.
struct TaskProfile {
  double bytes_per_us;     // read, by all of them
  double latency_us;       // of a group
  double sums_us;          // AllReduce: of a group, in which the links have no sums to carry
  double rows_us;          // AllGather: of a chunk, more than that: the ranks have to have begun
  double beside_tasks;     // GEMM time with them and with its stores, against alone
  double rows_us_per_mib;  // AllGather: per MiB of rows that a rank stores elsewhere
  std::vector<ProfilePoint> pushed_us_per_mib;  // of GEMM time, for every MiB that a rank pushes
};

struct MachineProfile {
  const char* name;

  // ---- GEMM
  // A tensor-bound kernel runs at the power limit. On x times clock_sms SMs its clock is
  // x^-clock_gain times that of its row in the catalogue.
  double clock_sms, clock_gain;
  double max_ghz;
  double l2_bytes_per_clock;    // that L2 delivers to an SM when all ask
  double memory_bytes_per_us;   // that memory delivers
  double sustained;             // long runs against cool bursts
  double mma_sync;              // mma.sync against wgmma, of the tensor peak
  double cluster_1, cluster_4;  // clock against a cluster of 2: more or fewer reads of L2
  double e4m3;                  // clock against 16-bit inputs
  double precise;               // cycles of the main loop against sums in the tensor cores
  double short_of_stages;       // cycles with three stages against four where rows are unaligned
  std::vector<ProfilePoint> load_vector;  // rate against elements per asynchronous copy
  double start_us;                        // launch, pipeline fill and drain
  double beside_collective;  // GEMM time next to a collective on other SMs, against alone
  double relief;  // of GEMM time in a run in sequence, times the part of it that communicates

  // ---- Collectives
  CollectiveProfile all_reduce, reduce_scatter, all_gather, all_to_all;
  // Out of symmetric windows (transport nccl_symmetric); the chunks of AllGather are sends and
  // receives, as in all_to_all.
  CollectiveProfile symmetric_all_reduce, symmetric_reduce_scatter, symmetric_all_to_all;
  int collective_ranks;  // of the tables over CTAs
  double lane_share;     // several lanes are as fast as one on this part of their CTAs
  std::vector<ProfilePoint> lane_beside_gemm;  // as beside_gemm, against the CTAs of one lane
  int default_ctas;                            // what NCCL takes when it may choose
  double wait_us;  // between collectives: from the counter's last raise, or from the end of the one
                   // before, to the start
  double step_us;  // AllGather: a copy or a post between collectives on the stream
  double copy_bytes_per_us;  // that a copy kernel on all SMs reads and writes

  // ---- Ranks that touch each other's memory
  double meet_us;  // of a run: that all ranks have ended the last one, and to say that this one has
  CopyProfile copies;
  StoreProfile stores;
  SumProfile sums;
  TaskProfile tasks;
};

// Four H200 (132 SMs, NV18), CUDA 13.0, NCCL 2.28, bf16.
const MachineProfile& h200_nvlink_profile();

// Linear between points, constant outside. `points` is sorted by x and not empty.
double interpolate(const std::vector<ProfilePoint>& points, double x);

}  // namespace tilepost
