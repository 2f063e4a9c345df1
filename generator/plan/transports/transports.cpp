#include "generator/plan/transports/transports.h"

#include <cstdlib>

#include "generator/plan/transports/objects.h"
#include "generator/spec/layer.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/quantised.h"

namespace tilepost {
namespace {

// In order of preference.
const std::vector<const Transport*>& all_transports() {
  static const std::vector<const Transport*> all = {
      &none_transport(),        &nccl_transport(),        &nccl_symmetric_transport(),
      &host_copies_transport(), &copy_engine_transport(), &peer_transport(),
      &peer_tiles_transport()};
  return all;
}

// "transport 'peer'".
std::string quoted_transport(const Spec& spec) {
  const std::optional<tilepost_transport_t> wish = spec.transport.value;
  return "transport " + quote(wish ? name_of(*wish) : "auto");
}

void check_sum(const Spec& spec, Diagnostics& diagnostics) {
  const Located<std::optional<tilepost_sum_t>>& sum = spec.schedule.sum;
  if (!sum.value) return;
  const std::string asked = "schedule.sum " + quote(name_of(*sum.value));
  if (!row_of(spec.pattern.value).sums) {
    diagnostics.error(sum.where, asked + " has nothing to add up: pattern " +
                                     quote(pattern_name(spec)) +
                                     " sums over no ranks; remove schedule.sum");
    return diagnostics.note(spec.pattern.where, "pattern is given here");
  }
  if (spec.transport.value == TILEPOST_TRANSPORT_PEER) return;
  diagnostics.error(sum.where, asked +
                                   " is for transport 'peer', whose kernels store the parts of a "
                                   "sum where they are added up; got " +
                                   quoted_transport(spec) +
                                   "; set transport 'peer' or remove schedule.sum");
}

void check_shots(const Spec& spec, Diagnostics& diagnostics) {
  const Located<std::optional<tilepost_shots_t>>& shots = spec.schedule.shots;
  if (!shots.value || spec.transport.value == TILEPOST_TRANSPORT_PEER_TILES) return;
  diagnostics.error(shots.where,
                    "schedule.shots is for transport 'peer_tiles', whose kernels exchange tiles; "
                    "got " +
                        quoted_transport(spec) +
                        "; set transport 'peer_tiles' or remove schedule.shots");
}

}  // namespace

int Transport::task_parts(const KernelConfig& config, const Plan& plan) const {
  if (plan.arch == Arch::host || plan.ranks > kMostOnOneHost) return 0;
  return has_helper_warp(config, plan) ? tasks_beside(plan) : 0;
}

const Transport& transport_of(tilepost_transport_t value) {
  for (const Transport* transport : all_transports())
    if (transport->row.value == value) return *transport;
  std::abort();  // no plan has TILEPOST_TRANSPORT_HOST as its planned transport
}

namespace {

// Whether a GPU has to find out that a rank has too many rows whose sums go home.
bool bounds_sums_on_gpus(const Plan& plan) {
  return row_of(plan).combines() && plan.arch != Arch::host &&
         plan.most_rows < plan.map.m * plan.top;
}

bool check_bound(const Spec& spec, const MachineProfile& profile, Diagnostics& diagnostics) {
  const std::optional<tilepost_transport_t> wish = spec.transport.value;
  const bool other = wish && *wish != TILEPOST_TRANSPORT_PEER;
  if (!other && profile.peers.peer_access) {
    const int before = diagnostics.errors();
    if (!wish) transport_of(TILEPOST_TRANSPORT_PEER).check(spec, diagnostics);
    const bool right = diagnostics.errors() == before;
    if (!right)
      diagnostics.note(spec.max_rows->where,
                       "max_rows needs transport 'peer' here; remove max_rows for others");
    return right;
  }
  const std::string why = other ? fmt::format(
                                      "transport {} would write the output of a run that "
                                      "has too many rows; use 'peer'",
                                      quote(name_of(*wish)))
                                : "only transport 'peer' has it, which needs GPUs that reach each "
                                  "other's memory: plan for another machine";
  diagnostics.error(spec.max_rows->where,
                    fmt::format("max_rows is not available with pattern {} here: {}, or remove "
                                "max_rows",
                                quote(pattern_name(spec)), why));
  return false;
}

}  // namespace

std::optional<tilepost_transport_t> wish_of(const Spec& spec, const Plan& plan) {
  if (spec.transport.value || !bounds_sums_on_gpus(plan)) return spec.transport.value;
  return TILEPOST_TRANSPORT_PEER;
}

std::vector<const Transport*> transports_to_try(const Spec& spec, const Plan& plan,
                                                const MachineProfile& profile) {
  const std::optional<tilepost_transport_t> wish = wish_of(spec, plan);
  if (!row_of(plan).communicates()) return {};
  std::vector<const Transport*> to_try;
  const bool any = !moved_scales(plan).exist();
  const auto quantises = [&](const Transport& transport) {
    return plan.quantised == 0 || may_quantise(row_of(plan), transport.access());
  };
  for (const Transport* transport : all_transports())
    if (transport->row.overlaps && (any || brings_scales(transport->row.value)) &&
        quantises(*transport) &&
        (!row_of(plan).has_tokens() || brings_tokens(transport->row.value)) &&
        (wish ? transport->row.value == *wish : transport->may_try(spec, plan, profile)))
      to_try.push_back(transport);
  return to_try;
}

bool check_machine(const Spec& spec, const Plan& plan, const MachineProfile& profile,
                   Diagnostics& diagnostics) {
  const std::optional<tilepost_transport_t> wish = spec.transport.value;
  if (bounds_sums_on_gpus(plan) && !check_bound(spec, profile, diagnostics)) return false;
  if (!wish || plan.arch == Arch::host || plan.ranks == 1) return true;
  const bool no_peers = transport_of(*wish).shares_memory() && !profile.peers.peer_access;
  const bool no_copies =
      *wish == TILEPOST_TRANSPORT_HOST_COPIES && !profile.peers.host_copies.available;
  if (no_peers)
    diagnostics.error(spec.transport.where,
                      quoted_transport(spec) +
                          " needs GPUs that reach each other's memory, and by " +
                          "its profile (peers.peer_access: 0) the machine " + quote(profile.name) +
                          " has none; use 'auto', 'host_copies' or 'nccl', or plan for another "
                          "machine");
  if (no_copies)
    diagnostics.error(spec.transport.where,
                      quoted_transport(spec) + " needs copies through pinned host memory, and by " +
                          "its profile (peers.host_copies.available: 0) the machine " +
                          quote(profile.name) + " has none; use 'auto' or 'nccl', or plan for " +
                          "another machine");
  return !no_peers && !no_copies;
}

const char* words_of(tilepost_shots_t shots) {
  if (shots == TILEPOST_ONE_SHOT_LINES) return "one shot in lines";
  return shots == TILEPOST_ONE_SHOT ? "one shot" : "two shots";
}

// The spec's rules (generator/spec/rules/rules.h) about what carries the groups.
void check_transport(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.pattern.given()) return;
  const std::optional<tilepost_transport_t> wish = spec.transport.value;
  const bool communicates = row_of(spec.pattern.value).communicates();
  if (!communicates && wish && transport_of(*wish).row.overlaps)
    diagnostics.error(spec.transport.where,
                      quoted_transport(spec) +
                          " has nothing to send: pattern 'gemm' does not communicate; "
                          "use 'auto' or 'none'");
  check_sum(spec, diagnostics);
  check_shots(spec, diagnostics);
  if (communicates && wish) transport_of(*wish).check(spec, diagnostics);
}

}  // namespace tilepost
