// What a machine profile knows of GEMMs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generator/plan/machine/points.h"

namespace tilepost {

// The times of a row of the catalogue of kernels (KernelConfig::row).
struct KernelTimes {
  double efficiency = 0.8;        // of the tensor peak inside the main loop
  double epilogue_cycles = 2000;  // per tile, not hidden behind the next tile's main loop
  double ghz = 0;                 // clock on `clock_sms` SMs; gemm_sm80: 0, the architecture's
  bool beside = false;  // whether timed beside collectives: the planner may overlap unasked
  // Products at the tensor peak run as if at no higher clock than this, whatever the efficiency and
  // the clock are: the power limit leaves no more. 0: `ghz` is that clock already.
  double most_ghz = 0;
};

// The time of gemm_sm90 by one formula, for rows of the catalogue that have no times of their own,
// and for all rows where nothing communicates. A stage of a tile costs a CTA cycles for its
// products, cycles until L2 has delivered its share of the operands, and cycles until shared memory
// is filled, also with what mates of its cluster ask for. The stage takes as long as the largest of
// the three, and longer than that where some are alike. The time of waves and the time of what they
// read and write of memory are combined in the same way. tests/gpu/rows/rows.py fits all fields but
// the limits, ghz, fill_beside and short_us.
struct Sm90Profile {
  double efficiency;          // of the tensor peak, of products alone
  double most_efficiency;     // of the same peak, for a whole tile: the power limit leaves no more
  double l2_bytes_per_clock;  // from L2 to an SM
  // Factors on the cycles of delivery where rows of K start on sectors but not on lines of L2, and
  // where they do not start on sectors.
  double off_lines, off_sectors;
  // Cycles in which 128 bytes come into shared memory, against CTAs of a cluster.
  std::vector<ProfilePoint> fill_cycles;
  double fill_beside;       // the same for any cluster where products move
  double sharpness;         // combines the three: the larger, the closer to the largest
  double epilogue_cycles;   // for 1000 elements of a tile that consumers share
  double turn_cycles;       // the same for consumers that take turns
  double ghz;               // clock on `clock_sms` SMs
  double no_cluster;        // clock without a cluster, against any
  double start_us;          // launch, pipeline fill and drain
  double clusters_us;       // in addition, with clusters
  double short_us;          // also with few rows: gemm_sm90_small starts before others have ended
  double end_us;            // for 1000 elements that a consumer stores behind its last products
  double reads, writes;     // parts of the time that memory alone takes for operands and output
  double memory_sharpness;  // exponent that combines this time and the waves
};

// The time of GEMMs with scales of blocks, against the model of precise sums without them.
// gemm_sm90 takes different factors where its consumers share a tile, of 128 columns and more or of
// fewer, and where they take turns: then nobody multiplies while one adds.
struct ScaledProfile {
  double shared, shared_narrow, turns;
  // gemm_sm90_small: cycles of a stage for each row of A, 64 columns of the tile and 128 elements
  // of K, besides those without scales: a consumer has to read the scales of all rows.
  double small;
};

// The time of GEMMs by all families of kernels.
struct GemmProfile {
  std::map<std::string, KernelTimes> kernels;  // by KernelConfig::row
  Sm90Profile sm90;
  ScaledProfile scaled;
  // Clock of an operation's GEMMs, between which the chip rests while ranks communicate, against
  // cool bursts.
  double sustained;
  double mma_sync;  // rate of mma.sync against wgmma, of the tensor peak
  // gemm_sm90's clock in clusters of one and of four, against clusters of two: these clusters read
  // L2 more or less often.
  double clusters_of_1, clusters_of_4;
  double narrow;      // clock with 8-bit inputs, against 16-bit inputs
  double precise;     // cycles of the main loop of precise sums, against sums in the tensor cores
  double unaligned;   // cycles in which L2 delivers rows that start off sectors, against others
  double few_stages;  // cycles with three stages where rows are unaligned, against four
  // gemm_sm90_small: cycles in which L2 delivers rows that start off lines of 128 bytes, and off
  // sectors, against others.
  double small_off_lines, small_off_sectors;
  std::vector<ProfilePoint> load_vector;  // rate against elements per asynchronous copy
  double start_us;                        // launch, pipeline fill and drain
  // Time for CTAs that share the products of a tile to meet and add up: per tile, and per KiB that
  // a CTA sends.
  double split_us, split_us_per_kib;
  int64_t in_flight_bytes;  // of operands on their way to an SM, as many as memory's latency takes
  int64_t band_rows;        // output rows that are swept together: a wave's operands stay in L2
  // Time of gemm_sm90_small with more than 128 rows where it exchanges no tiles, against its model,
  // which is of kernels that exchange tiles.
  double tall_small;
  double paced;              // part of a tile's main loop over which its stores to peers are spread
  double beside_collective;  // GEMM time next to a collective on other SMs, against alone
  double relief;  // part of the GEMM time in a run in sequence that a collective spares, times the
                  // part of the run that communicates

  // The times of a row of the catalogue, or guesses where there are none.
  const KernelTimes& times_of(const std::string& row) const;

  // The factor on the clock for such inputs, against 16-bit inputs.
  double clock_with(tilepost_dtype_t input) const {
    return row_of(input).is_narrow() ? narrow : 1.0;
  }
};

}  // namespace tilepost
