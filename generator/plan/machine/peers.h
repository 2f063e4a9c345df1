// What a machine profile knows of ranks that touch each other's memory, or pass data through the
// host's.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/machine/points.h"

namespace tilepost {

// tilepost_transport_t copy_engine: every rank copies what it needs out of all other ranks' memory
// at once. Rows of A it copies into the other ranks' memory instead, for one rank after the other.
struct CopyProfile {
  std::vector<ProfilePoint> us_per_mib;  // per MiB that a rank sends, against ranks
  double latency_us;                     // of a group: the ranks announce it, the copies start
  double beside_copies;                  // GEMM time next to them, against alone
  double lane_latency;                   // CollectiveProfile::lane_latency
  double both_ways;                      // AllReduce: time of parts and sums, against either alone
  // AllGather, whose rows are pushed beside the GEMM: time per MiB that a rank sends, against
  // ranks, and by how much the GEMM then takes longer.
  std::vector<ProfilePoint> rows_us_per_mib, slow_us_per_mib;
  double alone;      // AllGather: GEMM time of tiles whose CTAs share nothing, against others
  double push_us;    // of a chunk
  double landed_us;  // until the ranks know that a chunk is there
};

// tilepost_transport_t host_copies: copy engines carry chunks (runtime/map/host_rings.h) through
// pinned host memory, out of all GPUs and into all GPUs at once.
struct HostCopyProfile {
  bool available;                        // whether the machine was found to carry them
  std::vector<ProfilePoint> us_per_mib;  // per MiB that a rank sends, against ranks
  double latency_us;     // of a group: from its last tile until the last rank has one chunk of it
  double chunk_us;       // by which the last chunk arrives later than it was sent to host memory
  double beside_copies;  // GEMM time next to them, against alone
  double beside_gemm;    // their time next to the GEMM whose product they carry, against alone
  double both_ways;      // AllReduce: time of parts and sums, against as many bytes of either
};

// tilepost_transport_t peer: the kernel stores into other ranks' memory.
struct StoreProfile {
  double us_per_mib;  // per MiB that a rank stores elsewhere, by any of its warps
  // us_per_mib where sums share the links with tiles that are not all there yet, against KiB of a
  // CTA's tile: small tiles come more evenly.
  std::vector<ProfilePoint> both_us_per_mib;
  double latency_us;     // until the owner sees what was stored last
  double beside_stores;  // GEMM time with stores that the GEMM does not wait for
  double drain;  // part of the stores of a wave that is left when the last wave is computed: the
                 // own rows come last
};

// What an exchange of tiles adds to the GEMM, in one way of doing it (tilepost_shots_t).
struct ShotProfile {
  double latency_us;       // until all ranks have seen what was stored last
  double us_per_mib;       // per MiB that a rank sends in all: what is stored slows down the GEMM
  double wave_us_per_mib;  // per MiB sent of the last wave, which comes behind the GEMM
};

// tilepost_transport_t peer_tiles: kernels of few rows exchange tiles.
struct TileProfile {
  ShotProfile lines, one_shot, two_shots;
  int64_t most_rows;   // the most that were timed: the planner exchanges no more unasked
  int64_t usual_rows;  // up to here products take what the GEMM's model predicts
  double tall;         // factor on the time of products with more rows
  // AllGather: time until all ranks have seen what was stored last, and time per MiB that a rank
  // stores elsewhere.
  double rows_latency_us, rows_us_per_mib;
  double weights_in_l2;          // bytes of B that stay in L2 while other tiles are computed
  int64_t most_gathered_rows;    // as most_rows
  int64_t most_normalised_rows;  // as most_rows, where the kernel normalises rows
};

// Adding up parts, or copying them: bytes read and written.
struct SumProfile {
  double sm_bytes_per_us;      // on one SM that the GEMM leaves free
  double memory_bytes_per_us;  // on all SMs, when the GEMM has ended
  double unawaited;            // part of the time of sums that shows where no rank waits
};

// Runs whose epilogue does all that crosses ranks (tilepost_plan_t::fused).
struct FusedProfile {
  double beside_sums;  // GEMM time with sums in its epilogue, and stores that links take at leisure
  double sharpness;    // exponent of the norm in which products and stores share a wave
  double latency_us;   // of the last tiles: their flags, their sources, their stores
  int most_ranks;      // the most on which the epilogue was measured to be faster than tasks
  double paced;        // as GemmProfile::paced, of the time until a consumer's next tile
  // GEMM time of tiles of fewer than four stages, against other tiles: where each rank gets its
  // sums, and where all ranks get all sums.
  double few_stages, few_stages_beside_pushes;
};

// Sums as tasks of the GEMM's helper warps.
struct TaskProfile {
  double bytes_per_us;  // read, by all of them
  double latency_us;    // of a group
  double sums_us;       // AllReduce: of a group, in which the links have no sums to carry
  double rows_us;       // AllGather: of a chunk, on top of that: all ranks must have begun
  double beside_tasks;  // GEMM time with tasks and with the GEMM's stores, against the GEMM alone
  // GEMM time, against other tiles, of tiles of fewer than four stages, of tiles that arise
  // transposed, and of clusters of four CTAs, which wait for one another.
  double few_stages, swapped, clusters_of_4;
  double alone;            // the same factor for tiles whose CTAs share nothing
  double rows_us_per_mib;  // AllGather: per MiB of rows that a rank stores elsewhere
  std::vector<ProfilePoint> pushed_us_per_mib;  // of GEMM time, for every MiB that a rank pushes
  // The most bytes of a group with more than one cut point: where its parts are added up or moved,
  // and where its sums are pushed on.
  int64_t most_bytes, most_bytes_of_sums;
};

// All ways to move data between such ranks, and what goes on around them.
struct PeersProfile {
  bool peer_access;           // whether all GPUs reach each other's memory
  std::vector<int> sum_ctas;  // to try where sums have SMs of their own, besides 1
  std::vector<int> lanes;     // numbers of lanes to try: lanes take no CTAs
  double meet_us;    // of a run: all ranks say that they have ended the last one and begun this one
  double inside_us;  // the same where its GEMM does that
  double link_bytes_per_us;  // to other ranks at most, whatever moves them
  CopyProfile copies;
  HostCopyProfile host_copies;
  StoreProfile stores;
  TileProfile tiles;
  SumProfile sums;
  FusedProfile fused;
  TaskProfile tasks;
};

}  // namespace tilepost
