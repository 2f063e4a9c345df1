// The catalogue of kernels: every configuration that the planner may choose, and what it may ask of
// one.
//
// A new tile is a row of its family's configurations. A new kernel is a family: a folder here, and
// a line in kernels.cpp. Sizes of shared memory repeat the templates' kSharedBytes, and generated
// code asserts that the two agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/plan/kernels/config.h"
#include "generator/plan/kernels/family.h"
#include "generator/plan/machine/profile.h"

namespace tilepost {

// The families of an architecture in order of preference. The last one of several is asked only if
// none before it can serve a plan.
const std::vector<const KernelFamily*>& families_of(Arch arch);

// Those of them that serve the plan's pattern: none where it has no kernel for the architecture.
const std::vector<const KernelFamily*>& families_for(const Plan& plan);

// What the families offer for the plan, in order of preference.
std::vector<KernelConfig> offered_configs(const Plan& plan, const MachineProfile& profile);

// Why the family that is preferred on the plan's architecture cannot serve it, "" if it can.
std::string why_not_preferred(const Plan& plan);

// ---- What a CTA of a configuration needs (KernelFamily)

int64_t shared_bytes(const KernelConfig& config);
int threads(const KernelConfig& config);
int tile_k(const KernelConfig& config, tilepost_dtype_t element);
int signals_per_tile(const KernelConfig& config);

// ---- What a configuration can do (KernelFamily)

bool fits_cluster(const KernelConfig& config, int tiles);
// Whether the configuration can sum the plan's inputs as asked in the registers it has.
bool can_sum(const KernelConfig& config, const Plan& plan);
// Whether the configuration can store the plan's rows where they go.
bool can_route(const KernelConfig& config, const Plan& plan);
bool can_load(const KernelConfig& config, const Plan& plan);
bool stores_to_peers(const KernelConfig& config);
bool exchanges_tiles(const KernelConfig& config);
bool stages_whole_tile(const KernelConfig& config);
bool has_helper_warp(const KernelConfig& config, const Plan& plan);
bool is_for_tasks(const KernelConfig& config);

// ---- The plan's kernel

// The kernel of a configuration, with all tunables filled in.
KernelPlan make_kernel(const KernelConfig& config, const KernelRequest& request);

// The tile rows that are swept together: `rows` output rows, which keep a wave's operands in L2, as
// a multiple of the cluster and no more than there are.
int band_of(const KernelConfig& config, int cluster, int64_t m, int64_t rows);

// tilepost_view_t::pace of the plan. All CTAs finish a tile together; the burst of their stores,
// issued at once, would hold up what follows. 0 where nothing is stored to peers.
int pace_of(const KernelConfig& config, const Plan& plan, double paced);

}  // namespace tilepost
