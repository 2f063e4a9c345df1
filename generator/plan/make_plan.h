// From Spec to Plan, one per architecture, each verified.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/plan.h"

namespace tilepost {

// Plans every architecture of the spec. Reports all it cannot serve; empty if there was an error.
std::vector<Plan> make_plans(const Spec& spec, Diagnostics& diagnostics);

// The same plan on the host target: same tiles, groups, counters and steps, computed by gemm_host
// on threads and reduced in process.
Plan host_twin(const Plan& plan);

// What a run with `m` rows of a plan for any m executes, as a plan for that m: the runtime's choice
// (schedule_for), its map, waves and prediction. 1 <= m <= plan.map.m.
Plan plan_of_run(const Plan& plan, int64_t m);

// Checks every invariant of design §4 on a finished plan without using the code that built it: the
// map is a bijection, groups are contiguous, targets are what the kernel posts, every byte is sent
// once and lands once. Returns what is wrong, nothing if all holds.
std::vector<std::string> verify_plan(const Plan& plan);

// `<name>.plan.json`: all plans of one program.
std::string plans_to_json(const std::vector<Plan>& plans);

// `tilepost explain`: tiles, waves, groups, bytes, SM budget, a timeline.
std::string explain_plan(const Plan& plan);

}  // namespace tilepost
