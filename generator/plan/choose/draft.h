// What the planner's passes hand on: the plan so far and the kernels that may still serve it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/plan.h"

namespace tilepost {

// How the schedule of such a plan is divided where this transport carries the groups.
tilepost_division_t division_of(const Plan& plan, tilepost_transport_t transport);

struct Draft {
  const Spec& spec;
  const MachineProfile& profile;
  Diagnostics& diagnostics;
  Plan plan;
  std::vector<KernelChoice> kernels;          // in order of preference
  std::shared_ptr<const OwnKernel> own = {};  // the spec's kernel

  void because(std::string reason) { plan.reasons.push_back(std::move(reason)); }

  // The recipe of a map with this kernel, without groups.
  tilepost_map_t recipe(const KernelChoice& kernel, tilepost_transport_t transport) const;
};

// Builds the tile map of a plan whose recipe is complete, and counts its waves as the map has them:
// groups may pad more clusters than a single one, and chunks of arrivals follow rows, not waves.
void order_tiles(Plan& plan);

// A pass: completes part of the draft; false after it reported an error.
using Pass = bool (*)(Draft&);

// Lists the kernels that can serve the draft's architecture, shape and layout with what the spec
// asks for (select_kernels.cpp).
bool select_kernels(Draft& draft);

// The same with the spec's own kernel, which is the only one (select_own.cpp).
bool select_own(Draft& draft);

// Why the own kernel, if there is one, cannot serve groups that this transport carries; "": it can.
std::string why_not_division(const Draft& draft, tilepost_transport_t transport);

// Whether the schedule and the buffer where tiles are stored can be addressed by what kernels count
// with.
bool can_address(const tilepost_map_t& map);

// Chooses kernel, transport, SM budget and groups together, the spec's wishes fixed
// (choose_schedule.cpp).
bool choose_schedule(Draft& draft);

// Checks the finished plan (verify_plan); what it finds is a bug of the planner.
bool verify_draft(Draft& draft);

}  // namespace tilepost
