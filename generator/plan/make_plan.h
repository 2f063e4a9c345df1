// From Spec to Plan, one per architecture, each verified.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/cost/profile.h"
#include "generator/plan/plan.h"

namespace tilepost {

// Plans every architecture of the spec for such a machine. Reports all it cannot serve; empty if
// there was an error.
std::vector<Plan> make_plans(const Spec& spec, const MachineProfile& profile,
                             Diagnostics& diagnostics);

// The same plan on the host target: same tiles, groups, counters and steps, computed by gemm_host
// on threads and reduced in process.
Plan host_twin(const Plan& plan);

// What a run with `m` rows of a plan for any m executes, as a plan for that m: the runtime's choice
// (schedule_for), its map, waves and prediction. 1 <= m <= plan.map.m.
Plan plan_of_run(const Plan& plan, int64_t m);

// Checks a finished plan without using the code that built it. Returns what is wrong, nothing if
// all of this holds:
//   - the tile table is a bijection: every tile of the product has one position and is stored once,
//     padding is not stored, and the inverse says so;
//   - groups are consecutive positions that store one contiguous block each, blocks follow each
//     other, and each ends where its cut says;
//   - a group's target is what the kernels that raise its counter post;
//   - what ranks exchange, followed step by step, reads only what is finished or announced, and
//     every rank ends with every element it is meant to have, each written once;
//   - division, access, transport, types, epilogue and consumer fit the pattern;
//   - GEMM, collectives and waiter each have SMs of their own, and a CTA fits on its SM.
std::vector<std::string> verify_plan(const Plan& plan);

// `tilepost explain`: tiles, waves, groups, bytes, SM budget, a timeline.
std::string explain_plan(const Plan& plan);

}  // namespace tilepost
