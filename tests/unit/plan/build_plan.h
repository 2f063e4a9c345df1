// Specs and plans built in code, for tests of the planner.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostic_printer.h"
#include "generator/plan/make_plan.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost::test {

// A spec as the reader returns it for a file with only the required fields, but with one kernel for
// any m. Places in the file are invalid, so messages come without source lines.
inline Spec make_spec(int64_t m, int64_t n, int64_t k, Arch arch = Arch::sm_90a) {
  Spec spec;
  spec.name.value = "attn_out";
  spec.pattern.value = TILEPOST_GEMM_ALL_REDUCE;
  spec.ranks.value = 4;
  spec.gemm.m.value = m;
  spec.gemm.n.value = n;
  spec.gemm.k.value = k;
  spec.archs.value = {arch};
  spec.transport.value = std::nullopt;
  spec.consumer.value = TILEPOST_CONSUMER_NONE;
  spec.schedule.kernels.emplace().value = 1;
  return spec;
}

template <class T>
Located<T> wish(T value) {
  return {value, {}};
}

// All choices of a field: open, then each of `choices`.
template <class T>
std::vector<std::optional<T>> open_or(std::initializer_list<T> choices) {
  std::vector<std::optional<T>> all = {std::nullopt};
  all.insert(all.end(), choices.begin(), choices.end());
  return all;
}

// The plans of a spec, and the messages of planning it.
struct Planned {
  std::vector<Plan> plans;
  std::string messages;
  int errors = 0;
};

inline Planned plan(const Spec& spec, const MachineProfile& profile = default_machine()) {
  Planned result;
  llvm::raw_string_ostream stream(result.messages);
  {
    DiagnosticPrinter diagnostics(stream);
    result.plans = make_plans(spec, profile, diagnostics);
    result.errors = diagnostics.errors();
  }
  stream.flush();
  return result;
}

// A plan in which the test makes every choice: a host kernel, a grid of `gemm_ctas`, and groups
// that end at `cuts`.
struct SmallPlan {
  int64_t m = 1, n = 1;
  // Where rows of A are routed; `m` is then the number of rows that a rank receives.
  int64_t rows_sent = 0;
  int tile_m = 1, tile_n = 1;
  int cluster = 1, band = 1, signals = 1;
  int gemm_ctas = 1;
  int ranks = 2;
  tilepost_layout_t layout = TILEPOST_PANEL;
  std::vector<int32_t> cuts;
  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE;
  tilepost_routing_t routing = TILEPOST_ROUTING_EVEN;
  tilepost_division_t division = TILEPOST_DIVISION_ROWS;
  bool overlaps = true;
  tilepost_access_t access = TILEPOST_ACCESS_MESSAGES;
  int stagger = 0;
  bool pushes = false;  // for AllReduce; rows of A are pushed wherever ranks share memory
};

// A transport with this access.
inline tilepost_transport_t transport_with(tilepost_access_t access) {
  if (access == TILEPOST_ACCESS_READ) return TILEPOST_TRANSPORT_COPY_ENGINE;
  return access == TILEPOST_ACCESS_WRITE ? TILEPOST_TRANSPORT_PEER : TILEPOST_TRANSPORT_NCCL;
}

// Fills in `plan`, and reuses its memory.
inline void build_plan(const SmallPlan& small, Plan& plan) {
  plan.name = "small";
  plan.arch = Arch::host;
  plan.pattern = small.pattern;
  plan.routing = small.routing;
  plan.ranks = small.ranks;
  plan.map.m = small.m;
  plan.rows_sent = small.rows_sent;
  plan.map.n = small.n;
  plan.k = 8;
  plan.map.layout = small.layout;
  plan.set_transport(small.overlaps ? transport_with(small.access) : TILEPOST_TRANSPORT_NONE);
  plan.map.stagger = small.stagger;
  plan.pushes =
      small.pushes || (plan.access != TILEPOST_ACCESS_MESSAGES && row_of(plan).moves_input());
  plan.kernel.launch = TILEPOST_LAUNCH_HOST;
  plan.map.tile_m = small.tile_m;
  plan.map.tile_n = small.tile_n;
  plan.map.cluster = small.cluster;
  plan.map.signals_per_tile = small.signals;
  plan.map.band = small.band;
  set_division(plan.map, plan, small.division, plan.access);
  plan.set_cuts(small.cuts);
  plan.gemm_ctas = small.gemm_ctas;
  plan.comm_ctas = small.overlaps ? 1 : 0;
  plan.sms = small.gemm_ctas + 2;
  plan.set_tile_map(build_tile_map(plan.map));
  plan.waves =
      static_cast<int>((plan.tile_map().tiles.size() + plan.gemm_ctas - 1) / plan.gemm_ctas);
  plan.group_waves.assign(plan.cuts().size(), 0);
  plan.group_waves.back() = plan.waves;
}

inline Plan build_plan(const SmallPlan& small) {
  Plan plan;
  build_plan(small, plan);
  return plan;
}

inline std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Moves the end of a group by one unit in the cuts, but not in the tiles.
inline void move_cut(Plan& plan, size_t group) {
  std::vector<int32_t> cuts = plan.cuts();
  ++cuts[group];
  plan.set_cuts(std::move(cuts));
}

}  // namespace tilepost::test
