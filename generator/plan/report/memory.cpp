#include "generator/plan/report/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "generator/plan/kernels/operands.h"
#include "runtime/map/host_rings.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/slots.h"
#include "runtime/schedule/run_map.h"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/internal/token_tiles.h"

namespace tilepost {
namespace {

void take_larger(const RunSizes& sizes, RunSizes& most) {
  most.send = std::max(most.send, sizes.send);
  most.receive = std::max(most.receive, sizes.receive);
  most.scratch = std::max(most.scratch, sizes.scratch);
  most.slots = std::max(most.slots, sizes.slots);
  most.sums = std::max(most.sums, sizes.sums);
  most.landed = std::max(most.landed, sizes.landed);
}

// The most that any rank needs, by the code that the runtime allocates with. The first and the last
// rank differ where the last share is short, but not in windows.
RunSizes sizes_of(const tilepost_plan_t& plan, const RunPath& path) {
  if (plan.any_m || is_routed(plan) || path.exchanged == Memory::window) return most_sizes(plan);
  RunSizes most;
  for (const int rank : {0, plan.ranks - 1})
    take_larger(make_run_map(plan, rank, rows_of_runs(plan))->sizes, most);
  return most;
}

constexpr const char* kPinned = "pinned";

const char* word_of(Memory memory) {
  switch (memory) {
    case Memory::own:
      break;
    case Memory::shared:
      return "shared";
    case Memory::window:
      return "window";
  }
  return "";
}

std::string list(const std::vector<PlannedMemory>& memory, std::string_view shared) {
  std::string text;
  for (const PlannedMemory& part : memory) {
    if (part.shared != shared) continue;
    text += text.empty() ? "" : ", ";
    text += fmt::format("{0:.1f} MiB {1}", static_cast<double>(part.bytes) / (1 << 20), part.name);
  }
  return text;
}

}  // namespace

std::vector<PlannedMemory> planned_memory(const Plan& plan) {
  const RunPaths paths = paths_of(plan);
  const RunPath& path = paths.planned;
  const RunSizes sizes = sizes_of(plan, path);
  const char* const exchanged = word_of(path.exchanged);
  const int64_t width = bytes_of(plan.output);
  std::vector<PlannedMemory> memory;
  const auto add = [&](const char* name, int64_t bytes, const char* shared) {
    if (bytes > 0) memory.push_back({name, bytes, shared});
  };
  if (path.sorts_a) add("packed", place_of_rows(plan, plan.rows_sent).bytes, "");
  if (path.reads != InputFrom::a)
    add("gathered", path.places_of_rows() * place_of_rows(plan, plan.map.m).bytes, exchanged);
  if (paths.any(&RunPath::stores_apart)) add("send", sizes.send * width, exchanged);
  add("slots", sizes.slots * width, "shared");
  add("sums", sizes.sums * width, "shared");
  add("landed", sizes.landed * width, "shared");
  if (path.exchanges_parts) add("flags", exchange_flags_bytes(exchanged_parts(plan)), "shared");
  add("scratch", plan.comm_lanes * sizes.scratch * width, "");
  add("received", sizes.receive * width, word_of(path.receives_in));
  if (path.lists_tiles && plan.arch != Arch::host)
    add("list of tiles",
        token_list_bytes(most_tile_rows(plan.most_rows, plan.experts, plan.map.tile_m)), "");
  if (path.combines) add("products", plan.most_rows * plan.map.n * width, "");
  if (plan.planned_transport == TILEPOST_TRANSPORT_HOST_COPIES && plan.ranks > 1) {
    add("parts", (plan.ranks - 1) * host_part_stride(plan, sizes.send) * width, "");
    add("rings", host_ring_bytes(row_of(plan), plan.ranks), kPinned);
  }
  return memory;
}

std::string describe_memory(const Plan& plan) {
  const std::vector<PlannedMemory> memory = planned_memory(plan);
  const std::string own = list(memory, ""), shared = list(memory, "shared"),
                    windows = list(memory, "window"), pinned = list(memory, kPinned);
  std::string text = own;
  const auto append = [&](const std::string& parts, const char* how) {
    if (!parts.empty()) text += (text.empty() ? "" : "; ") + parts + how;
  };
  append(shared, " shared with the other ranks");
  append(windows, " in symmetric windows");
  append(pinned, " of pinned host memory");
  return text.empty() ? "none beside the caller's" : text + ", on every rank";
}

}  // namespace tilepost
