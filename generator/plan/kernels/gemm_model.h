// How long a GEMM takes, as families predict it and schedules use it; microseconds throughout.
#pragma once

#include "generator/plan/kernels/config.h"
#include "generator/plan/machine/profile.h"

namespace tilepost {

// The GEMM as the model sees it: every CTA computes one tile in every wave.
struct GemmModel {
  double start = 0;  // before the first wave
  double wave = 0;   // one wave on a grid of `reference_ctas`
  double reference_ctas = 1;
  double least_factor = 0;          // the least factor on `wave`: the clock cannot be higher
  double clock_gain = 0;            // a grid of x reference_ctas clocks x^-clock_gain as fast
  double read_b = 0, read_row = 0;  // tilepost_model_t

  // The time of one wave on a grid that computes `at_once` positions. `beside`: the factor by which
  // it takes longer because of what goes on beside it.
  double wave_on(int at_once, double beside = 1) const;
};

// The number of CTAs that are resident at once, with one for each SM: clusters larger than a pair
// of SMs do not fit everywhere.
int resident_sms(const MachineProfile& profile, const Plan& plan, int cluster);

// ---- For families

// Time in which a CTA sends partial sums to the other CTAs of its tile.
double exchange_us(const MachineProfile& profile, const KernelConfig& config);

// What a tile of a kernel takes.
struct TileModel {
  double cycles = 0;
  double ghz = 1;
  double start_us = 0;  // of the whole kernel
};

// The model of a kernel whose CTAs all compute such tiles, one after the other.
GemmModel gemm_of_tiles(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                        const KernelRequest& request, const TileModel& tile);

// What the time of a stage of a tile is made of. A stage takes as many cycles as the longest of
// these: its products, what L2 delivers for it, or its products at the power limit
// (KernelTimes::most_ghz).
struct StageModel {
  double efficiency = 1;  // of the tensor peak of an SM, inside the main loop
  double ghz = 1;
  double delivery = 0;  // cycles until L2 has delivered the operands; 0: not known
  double more = 1;      // factor on the cycles of products
  double waits = 1;     // factor on the cycles of a stage, for waits that show
};

// Cycles that the tensor cores of an SM need for one stage of a tile.
double multiply_cycles(const Plan& plan, const KernelConfig& config, const KernelRequest& request,
                       double efficiency);

// A tile of such stages, with the epilogue that the profile has for the configuration's row.
TileModel tile_of_stages(const MachineProfile& profile, const Plan& plan,
                         const KernelConfig& config, const KernelRequest& request,
                         const StageModel& stage);

// Stages of a CTA's part of a tile.
double stages_of_tile(const Plan& plan, const KernelConfig& config, const KernelRequest& request);

// Bytes that L2 delivers to an SM in one stage. CTAs of a cluster share B, or A.
double delivered_bytes(const KernelConfig& config, const KernelRequest& request);

// Cycles in which L2 delivers these bytes.
double delivery_cycles(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                       const KernelRequest& request);

// Whether the rows of the operands start on sectors, the 32 bytes that L2 delivers at least.
bool starts_on_sectors(const Plan& plan, const KernelRequest& request);

// The factor on the cycles in which L2 delivers rows of `row_bytes` bytes: `off_sectors` where they
// do not start on sectors, `off_lines` where they do but not on L2's lines, and otherwise 1.
double off_the_grid(int64_t row_bytes, double off_lines, double off_sectors);

}  // namespace tilepost
