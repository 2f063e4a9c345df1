// The machine the planner predicts for: every number that was measured, in one value that the
// planner is given. No other file of planner or runtime has one; what a run needs of them when it
// says its m travels in tilepost_model_t.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generator/plan/arch.h"
#include "runtime/map/patterns.h"

namespace tilepost {

// One row of a table: y at x, interpolated linearly, held constant outside.
struct ProfilePoint {
  double x, y;
};

// Where groups may be moved: CTAs for it, and the lanes that share them.
struct CommChoice {
  int ctas, lanes;
};

// A row of the catalogue of kernels, by KernelConfig::row.
struct KernelTimes {
  double efficiency = 0.8;        // of the tensor peak inside the main loop
  double epilogue_cycles = 2000;  // per tile, not hidden behind the next tile's main loop
  double ghz = 0;       // the clock it leaves `clock_sms` SMs; gemm_sm80: 0, the architecture's
  bool beside = false;  // was timed beside collectives: the planner may overlap it unasked
  // Products at the tensor peak go as if at no higher clock, whatever the efficiency and the clock
  // are: the power limit leaves no more. 0: `ghz` is that already.
  double most_ghz = 0;
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
  double alone;      // AllGather: GEMM time of tiles whose CTAs share nothing, against others
  double push_us;    // of a chunk
  double landed_us;  // until they know that it is there
};

// tilepost_transport_t peer: the kernel stores into other ranks' memory.
struct StoreProfile {
  double us_per_mib;  // per MiB that a rank stores elsewhere, whichever of its warps do
  // Where sums share the links with tiles that are not all there yet, against KiB of a CTA's tile:
  // small ones come more evenly.
  std::vector<ProfilePoint> both_us_per_mib;
  double latency_us;     // until the owner sees what was stored last
  double beside_stores;  // GEMM time with stores that it does not wait for
  double drain;  // of the stores of a wave, what is left to do when the last one is computed: the
                 // own rows come last
};

// What an exchange of tiles adds to the GEMM, in one way of doing it (tilepost_shots_t).
struct ShotProfile {
  double latency_us;  // until all ranks have seen what was stored last
  double us_per_mib;  // per MiB that a rank sends, all of it: what is stored slows down the GEMM
  double wave_us_per_mib;  // per MiB that it sends of one wave: the last one's come behind the GEMM
};

// tilepost_transport_t peer_tiles: kernels of few rows exchange tiles.
struct TileProfile {
  ShotProfile lines, one_shot, two_shots;
  int64_t most_rows;   // that were timed: the planner exchanges no more unasked
  int64_t usual_rows;  // up to here products take what the GEMM's model says, with more
  double tall;         // so many times that
  // AllGather: until all ranks have seen what was stored last, and per MiB that a rank stores
  // elsewhere.
  double rows_latency_us, rows_us_per_mib;
  double weights_in_l2;          // bytes of them that stay there while other tiles are computed
  int64_t most_gathered_rows;    // as most_rows
  int64_t most_normalised_rows;  // as most_rows, where the kernel normalises them
};

// Adding up parts, or copying them: bytes read and written.
struct SumProfile {
  double sm_bytes_per_us;      // on one SM that the GEMM leaves free
  double memory_bytes_per_us;  // on all SMs, when the GEMM has ended
  double unawaited;            // of the time of sums, where no rank waits for another's
};

// Sums in the epilogue of the owner's tiles (tilepost_plan_t::fused_sum).
struct FusedProfile {
  double beside_sums;  // GEMM time with sums in its epilogue, and stores that links take at leisure
  double sharpness;    // exponent of the norm in which products and stores share a wave
  double latency_us;   // of the last tiles: their flags, their sources, their stores
  int most_ranks;      // on which they were measured: faster than tasks wherever both were
  double paced;        // as MachineProfile::paced, of the time until a consumer's next tile
  // GEMM time of tiles of less than four stages against others, where each rank gets its sums, and
  // where all ranks get all.
  double short_of_stages, short_beside_pushes;
};

// Sums as tasks of the GEMM's helper warps.
struct TaskProfile {
  double bytes_per_us;  // read, by all of them
  double latency_us;    // of a group
  double sums_us;       // AllReduce: of a group, in which the links have no sums to carry
  double rows_us;       // AllGather: of a chunk, more than that: the ranks have to have begun
  double beside_tasks;  // GEMM time with them and with its stores, against alone
  // The same of tiles of less than four stages, of those that arise transposed, and of clusters of
  // four CTAs, which wait for one another, against other tiles.
  double short_of_stages, swapped, clusters_of_4;
  double alone;            // of tiles whose CTAs share nothing
  double rows_us_per_mib;  // AllGather: per MiB of rows that a rank stores elsewhere
  std::vector<ProfilePoint> pushed_us_per_mib;  // of GEMM time, for every MiB that a rank pushes
  // Bytes of a group whose parts are added up or moved, at most, where it has more than one cut
  // point; and of one whose sums are pushed on.
  int64_t most_bytes, most_bytes_of_sums;
};

// How much later fewer groups may end than the best, a part of the whole: about the error of the
// model, and what it does not see.
struct SlackProfile {
  double one_lane, lanes;  // collectives
  double turns;            // shares take turns, and what follows a group shares the free SMs
  double turns_hurried;    // shares take turns, sums travel early or helper warps do the tasks
  double turns_pushed;     // shares take turns, and helper warps push the sums
  double rows;             // chunks of A, pushed, which helper warps serve
};

// gemm_sm90 by one formula, for rows of the catalogue that have no times of their own, and for all
// where nothing communicates. A stage of a tile costs a CTA cycles for its products, until L2 has
// delivered its share of the operands, and until shared memory is filled, also with what mates of
// its cluster ask for; where some of these are alike, it costs more than the largest. Waves and
// what they read and write of memory are added in the same way. tests/gpu/rows/rows.py fits all but
// the limits, ghz, fill_beside and short_us.
struct Sm90Profile {
  double efficiency;          // of the tensor peak, of products alone
  double most_efficiency;     // of the same, of a whole tile: the power limit leaves no more
  double l2_bytes_per_clock;  // that L2 delivers to an SM
  // Cycles of that, against 1, where rows of K start on sectors but not on lines of L2, and where
  // they do not start on sectors.
  double off_lines, off_sectors;
  // Cycles in which 128 bytes come into shared memory, against CTAs of a cluster.
  std::vector<ProfilePoint> fill_cycles;
  double fill_beside;       // the same of all where products move
  double sharpness;         // the three's exponent: the more, the closer to the largest
  double epilogue_cycles;   // for 1000 elements of a tile that consumers share
  double turn_cycles;       // the same where they take turns
  double ghz;               // clock on `clock_sms` SMs
  double cluster_1;         // clock without a cluster, against any
  double start_us;          // launch, pipeline fill and drain
  double clusters_us;       // more with clusters
  double short_us;          // more with few rows: gemm_sm90_small starts before others have ended
  double end_us;            // for 1000 elements that a consumer stores behind its last products
  double reads, writes;     // of memory's time for operands and output, against alone
  double memory_sharpness;  // the exponent of that and the waves
};

struct MachineProfile {
  std::string name;
  Arch arch;  // others have their GEMM scaled from the tensor peak, and collectives as here

  // ---- GEMM
  std::map<std::string, KernelTimes> kernels;
  Sm90Profile sm90;
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
  double unaligned;  // cycles that L2 delivers in where rows do not start on sectors, against 1
  double short_of_stages;  // cycles with three stages against four where rows are unaligned
  std::vector<ProfilePoint> load_vector;  // rate against elements per asynchronous copy
  double start_us;                        // launch, pipeline fill and drain
  double split_us, split_us_per_kib;  // CTAs that share a tile meet and add up, and what each sends
  int64_t in_flight_bytes;            // of operands per SM: what memory's latency takes
  int64_t band_rows;                  // output rows swept together: a wave's operands stay in L2
  // gemm_sm90_small with more than 128 rows, where it exchanges no tiles, against its model, which
  // is of those that do.
  double tall_small;
  double paced;  // of a tile's main loop, in which its stores to peers are spread
  std::vector<ProfilePoint> resident_sms;  // against CTAs per cluster, for more than a pair of SMs
  double beside_collective;  // GEMM time next to a collective on other SMs, against alone
  double relief;  // of GEMM time in a run in sequence, times the part of it that communicates

  // ---- Collectives
  CollectiveProfiles sequence;   // the one of a run without overlap
  CollectiveProfiles groups;     // one for each group, or chunk, beside the GEMM
  CollectiveProfiles symmetric;  // the same out of symmetric windows
  // To try where the spec leaves it open, in order of preference among equals.
  std::vector<CommChoice> choices, symmetric_choices;
  int least_lane_ctas;   // of a lane: with fewer a second one is not worth it
  int collective_ranks;  // of the tables over CTAs; nothing was measured on more
  double lane_share;     // several lanes are as fast as one on this part of their CTAs
  std::vector<ProfilePoint> lane_beside_gemm;  // as beside_gemm, against the CTAs of one lane
  int default_ctas;                            // what NCCL takes when it may choose
  double wait_us;  // between collectives: from the counter's last raise, or from the end of the one
                   // before, to the start
  double stream_wait_us;  // the same with cuStreamWaitValue32 in place of the poll
  double step_us;         // AllGather: a copy or a post between collectives on the stream
  double issue_us;  // rows of A that streams bring beside the GEMM: from its start until the host
                    // has issued what brings the first of them and tells the GEMM so
  double copy_bytes_per_us;  // that a copy kernel on all SMs reads and writes

  // ---- Ranks that touch each other's memory
  std::vector<int> sum_ctas;  // to try where sums have SMs of their own, besides 1
  std::vector<int> lanes;     // to try: they take no CTAs
  double meet_us;  // of a run: that all ranks have ended the last one, and to say that this one has
  double inside_us;          // the same where its GEMM does that
  double link_bytes_per_us;  // to other ranks at most, whatever moves them
  CopyProfile copies;
  StoreProfile stores;
  TileProfile tiles;
  SumProfile sums;
  FusedProfile fused;
  TaskProfile tasks;

  // ---- The model itself
  SlackProfile slack;
  double noise;  // differences below this part are none
  // Of two that end alike by the model, because links hide how long their GEMMs take, the one whose
  // GEMM is shorter by more than this part is taken: it is not hidden all the time.
  double hidden;
  double margin;  // the part by which overlap has to win: what it loses is certain
  // Products: the part by which collectives and copies beside a GEMM, and runs in sequence, end
  // later than predicted on shapes that nothing was fitted to. What helper warps move does not: it
  // is preferred to those by this.
  double doubt;

  // What is known of a row of the catalogue, or a guess.
  const KernelTimes& times_of(const std::string& row) const;
  // From a counter's last raise, or from the end of the collective before, to the start of the
  // collective that waits for it; us.
  double wait_of(tilepost_wait_t wait) const {
    return wait == TILEPOST_WAIT_STREAM ? stream_wait_us : wait_us;
  }
};

// Four H200 (132 SMs, NV18), CUDA 13.0, NCCL 2.28, bf16. The numbers of gemm_sm90's formula lie
// between H200 and H100; tall_small, short_us and `alone` are of H100.
const MachineProfile& h200_nvlink_profile();

// Linear between points, constant outside. `points` is sorted by x and not empty.
double interpolate(const std::vector<ProfilePoint>& points, double x);

}  // namespace tilepost
