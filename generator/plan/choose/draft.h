// What the planner's passes hand on: the plan so far and the kernels that may still serve it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/pick.h"
#include "generator/plan/plan.h"
#include "generator/plan/variant.h"

namespace tilepost {

// How the plan's schedule is divided if this transport carries the groups.
tilepost_division_t division_of(const Plan& plan, tilepost_transport_t transport);

// What is worth measuring, for those who ask (promising.cpp).
struct Listing {
  size_t most = 0;  // how many to list
  std::vector<Pick> picks;
};

struct Draft {
  const Spec& spec;
  const MachineProfile& profile;
  Diagnostics& diagnostics;
  Plan plan;
  std::vector<KernelChoice> kernels;          // in order of preference
  std::shared_ptr<const OwnKernel> own = {};  // the spec's kernel
  const TunedPick* picked = nullptr;          // what a tuning file chooses; null: nothing
  Listing* listing = nullptr;  // where choose_schedule lists what is worth measuring; null: nowhere
  HasKernel has_kernel = {};   // which kernels may be chosen; empty: all
  VariantTimes* times = nullptr;  // where choose_schedule notes times of kernels; null: nowhere

  void add_reason(std::string reason) { plan.reasons.push_back(std::move(reason)); }

  // The recipe of a map with this kernel, without groups.
  tilepost_map_t recipe(const KernelChoice& kernel, tilepost_transport_t transport) const;
};

// Builds the tile map of a plan whose recipe is complete, and counts the plan's waves in the
// finished map: several groups may pad more clusters than a single group, and chunks of arrivals
// follow rows rather than waves.
void order_tiles(Plan& plan);

// A pass completes a part of the draft. It returns false after it reported an error.
using Pass = bool (*)(Draft&);

// Lists the kernels that can serve the draft's architecture, shape and layout with what the spec
// asks for (select_kernels.cpp).
bool select_kernels(Draft& draft);

// Lists the user's own kernel, which is then the only one (select_own.cpp).
bool select_own(Draft& draft);

// Why the user's own kernel cannot serve groups that this transport carries; "" if it can, or if
// there is no such kernel.
std::string why_not_division(const Draft& draft, tilepost_transport_t transport);

// Whether the schedule, and the buffer in which tiles are stored, are small enough for the tables
// of the planner and for the numbers that kernels count with.
bool can_address(const tilepost_map_t& map);

// Chooses kernel, transport, SM budget and groups together, within the spec's wishes
// (choose_schedule.cpp).
bool choose_schedule(Draft& draft);

// Checks the finished plan (verify_plan). An error that it finds is a bug of the planner.
bool verify_draft(Draft& draft);

}  // namespace tilepost
