// What a schedule takes: a few closed formulas over a machine profile, microseconds throughout.
//
// The model ranks schedules; it does not promise times. It has no noise in it: the same question
// gets the same answer.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/choose/budget.h"
#include "generator/plan/cost/profile.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/plan.h"
#include "runtime/map/groups.h"

namespace tilepost {

// The GEMM as the model sees it: every CTA computes one tile in every wave.
struct GemmModel {
  double start = 0;  // before the first wave
  double wave = 0;   // one wave on a grid of `reference_ctas`
  double reference_ctas = 1;
  double least_factor = 0;          // of wave: no clock is higher
  double clock_gain = 0;            // a grid of x reference_ctas clocks x^-clock_gain as fast
  double read_b = 0, read_row = 0;  // tilepost_model_t

  // One wave on a grid that computes `at_once` positions.
  double wave_on(int at_once) const;
};

// The plan's product by one kernel. `beside_collective`: collectives run on other SMs meanwhile.
GemmModel model_gemm(const Plan& plan, const KernelConfig& config, const KernelRequest& request,
                     bool beside_collective);

// One collective as the model sees it.
struct CollectiveModel {
  double latency = 0;
  double per_byte = 0;
  double tail = 0;  // of the last collective, which no other lane hides, or of a chunk's arrival
};

// The pattern's collectives by NCCL on `comm.ctas` CTAs per rank. But for transport none a GEMM
// runs meanwhile, and `comm.lanes` of them overlap: the links are shared, and most of the latency
// of one hides behind the others. `wait`: before each of them, part of its latency. Nothing takes
// no time. all_gather_gemm: in chunks beside the GEMM, which are sends and receives, and whole
// otherwise, the copy of the own rows included.
CollectiveModel model_collective(tilepost_pattern_t pattern, tilepost_transport_t transport,
                                 int ranks, CommChoice comm, double wait);

// A schedule whose groups move by reading or writing other ranks' memory.
struct SharedProblem {
  CommChoice comm;
  double wave;        // of the GEMM with nothing beside it, us
  double computed;    // the whole GEMM, us
  double wave_bytes;  // that a wave stores
  double bytes;       // of all groups
  int task_parts;     // tilepost_plan_t::task_parts
};

struct TransferModel {
  double wave;            // beside the transfers, or with its own stores
  CollectiveModel group;  // what follows the tiles of a group, or brings a chunk
  double announce;        // all_gather_gemm: before everything, after the copy of the own rows
};

// Transports copy_engine and peer.
TransferModel model_shared(const Plan& plan, tilepost_transport_t transport,
                           const SharedProblem& problem);

// A copy of `bytes` bytes by a kernel on all SMs.
double copy_us(double bytes);

// From a counter's last raise, or from the end of the collective before, to the start of the
// collective that waits for it.
double wait_us(tilepost_wait_t wait);

// Bytes of what one unit of tilepost::GroupProblem::unit_bytes stands for.
int64_t unit_bytes(const Plan& plan, tilepost_division_t division);

// A number as it is printed into generated code, 9 digits, so that the runtime's is the planner's.
double nine_digits(double value);

// Bytes that group `g` of a finished plan sends, or brings in.
int64_t bytes_of_group(const Plan& plan, size_t g);

// The timeline of a finished plan by plan.model: groups become ready in schedule order, each
// collective starts when its group is ready and its lane is free, and the links serve one after the
// other; where communication comes first, tiles wait for their chunk. `sequence` is the caller's to
// fill.
Prediction predict(const Plan& plan);

}  // namespace tilepost
