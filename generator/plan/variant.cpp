#include "generator/plan/variant.h"

#include <fmt/format.h>

#include "generator/spec/names.h"

namespace tilepost {
namespace {

// Collects constants, in the order in which generated code has them.
class Constants {
 public:
  void add(const char* type, std::string values) {
    constants_.push_back({type, std::move(values)});
  }
  void is_true(bool value, const char* name) {
    if (value) add("bool", fmt::format("{} = true", name));
  }
  void is_false(bool value, const char* name) {
    if (value) add("bool", fmt::format("{} = false", name));
  }
  std::vector<ViewConstants> finish() { return std::move(constants_); }

 private:
  std::vector<ViewConstants> constants_;
};

// Host threads order stores by themselves and have no helper warps.
void add_of_gpus(const Plan& plan, const RunPath& path, Constants& constants) {
  if (path.is_fused) constants.add("int", fmt::format("kOthers = {}", plan.ranks - 1));
  if (path.is_fused && row_of(plan).sums) constants.add("int", "kSources = kOthers");
  constants.is_true(path.is_fused && path.pushes == Pushes::results, "kSpreads");
  if (plan.task_parts > 0) constants.add("int", fmt::format("kTaskParts = {}", plan.task_parts));
  const bool tasks_push =
      plan.task_parts > 0 && plan.pushes && plan.access == TILEPOST_ACCESS_WRITE;
  constants.is_true(tasks_push || path.pushes_tokens, "kPushes");
  constants.is_false(plan.transport == TILEPOST_TRANSPORT_NONE, "kOverlaps");
}

std::string duties_text(const KernelDuties& duties) {
  std::string text;
  const auto add = [&](bool has, const char* name) {
    if (has) text += (text.empty() ? "" : ",") + std::string(name);
  };
  add(duties.waits, "waits");
  add(duties.stores, "stores");
  add(duties.fused, "fused");
  add(duties.sources, "sources");
  add(duties.spreads, "spreads");
  add(duties.tasks, "tasks");
  add(duties.reads_own, "reads_own");
  add(duties.exchanges_parts, "exchanges_parts");
  add(duties.gathers, "gathers");
  return text.empty() ? "nothing" : text;
}

// Whether the kernel itself stores tiles by owner, and not one behind it.
bool kernel_stores_by_owner(const Plan& plan) {
  const RunPath path = paths_of(plan).overlapping;
  return path.stores_by_owner && !path.combines;
}

}  // namespace

KernelDuties duties_of(const Plan& plan) {
  const RunPaths paths = paths_of(plan);
  const bool gpu = plan.kernel.launch != TILEPOST_LAUNCH_HOST;
  const bool exchanges = paths.planned.exchanges_parts, moves_input = row_of(plan).moves_input();
  KernelDuties duties;
  duties.waits = paths.planned.waits == Waits::tiles;
  duties.stores = kernel_stores_by_owner(plan);
  duties.tasks = gpu && plan.task_parts > 0;
  duties.fused = plan.fused != 0;
  duties.sources = plan.fused != 0 && row_of(plan).sums;
  duties.spreads = plan.fused != 0 && plan.pushes != 0;
  duties.reads_own = plan.reads_own != 0;
  duties.exchanges_parts = exchanges && !moves_input;
  duties.gathers = exchanges && moves_input;
  return duties;
}

std::vector<ViewConstants> view_of(const Plan& plan) {
  const RunPaths paths = paths_of(plan);
  const RunPath &planned = paths.planned, &path = paths.overlapping;
  const bool exchanges = planned.exchanges_parts;
  const bool gathers = exchanges && row_of(plan).moves_input();
  Constants constants;
  if (plan.map.layout != TILEPOST_PANEL)
    constants.add("tilepost::Layout",
                  fmt::format("kLayout = tilepost::Layout::{}", name_of(plan.map.layout)));
  constants.add("int", fmt::format("kTileM = {}, kTileN = {}", plan.map.tile_m, plan.map.tile_n));
  constants.is_true(scatters_rows(plan), "kRouted");
  constants.is_true(planned.waits == Waits::tiles, "kWaits");
  constants.is_true(plan.reads_own != 0, "kReadsOwn");
  // How many tiles experts have is known on the device alone, and nothing waits for them.
  constants.is_false(
      planned.waits == Waits::launches || (exchanges && !gathers) || row_of(plan).has_experts(),
      "kRaises");
  constants.is_true(gathers, "kGathers");
  if (gathers)
    constants.add("int", fmt::format("kRanks = {}", plan.ranks));
  else if (exchanges)
    constants.add(
        "int", fmt::format("kShots = {}, kRanks = {}", static_cast<int>(plan.shots), plan.ranks));
  constants.is_true(exchanges && row_of(plan).product_leaves(), "kScatters");
  constants.is_false(exchanges && !row_of(plan).sums, "kSums");
  if (planned.normalises)
    constants.add("int",
                  fmt::format("kNorm = {}, kN = {}", static_cast<int>(plan.consumer), plan.map.n));
  constants.is_true(kernel_stores_by_owner(plan), "kStores");
  const bool whole_run = path.whole_run && !path.exchanges_parts;
  constants.is_true(whole_run, "kWholeRun");
  if (whole_run && row_of(plan).moves_input())
    constants.add("int", fmt::format("kGroups = {}", plan.map.num_groups));
  if (plan.kernel.launch != TILEPOST_LAUNCH_HOST) add_of_gpus(plan, path, constants);
  return constants.finish();
}

std::string KernelVariant::key() const {
  std::string text = fmt::format("{} {}:{} threads={} shared={}", name_of(arch), file, function,
                                 threads, shared_bytes);
  for (const auto& [name, value] : tunables) text += fmt::format(" {}={}", name, value);
  text += " does=" + duties_text(duties);
  for (const ViewConstants& constants : view)
    text += fmt::format("; {} {}", constants.type, constants.values);
  return text;
}

KernelVariant variant_of(const Plan& plan) {
  KernelVariant variant;
  variant.arch = plan.arch;
  variant.file = plan.source.file;
  variant.function = plan.kernel.name;
  variant.tunables = plan.source.tunables;
  // A woven kernel has the plan's order of tiles from its view. BAND is for the plain kernel, and
  // follows from m.
  variant.tunables.erase("BAND");
  variant.threads = plan.kernel.threads;
  variant.shared_bytes = plan.kernel.shared_bytes;
  variant.duties = duties_of(plan);
  variant.view = view_of(plan);
  return variant;
}

}  // namespace tilepost
