#include "generator/plan/report/memory.h"

#include <algorithm>

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/make_plan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "runtime/map/run_map.h"

namespace tilepost {
namespace {

constexpr int64_t kOutputBytes = 2;

void take_larger(const RunSizes& sizes, RunSizes& most) {
  most.send = std::max(most.send, sizes.send);
  most.receive = std::max(most.receive, sizes.receive);
  most.scratch = std::max(most.scratch, sizes.scratch);
  most.slots = std::max(most.slots, sizes.slots);
  most.sums = std::max(most.sums, sizes.sums);
  most.landed = std::max(most.landed, sizes.landed);
}

// Of all ranks, by the code that the runtime allocates with. The first and the last differ where
// the last share is short, but not in windows.
RunSizes sizes_of(const Plan& plan, const tilepost_plan_t& runtime) {
  const bool windows = runtime.transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
  if (plan.any_m || is_routed(runtime) || windows) return most_sizes(runtime);
  RunSizes most;
  for (const int rank : {0, plan.ranks - 1})
    take_larger(make_run_map(runtime, rank, plan.map.m)->sizes, most);
  return most;
}

std::string list(const std::vector<PlannedMemory>& memory, llvm::StringRef shared) {
  std::string text;
  for (const PlannedMemory& part : memory) {
    if (part.shared != shared) continue;
    text += text.empty() ? "" : ", ";
    text += llvm::formatv("{0:F1} MiB {1}", static_cast<double>(part.bytes) / (1 << 20), part.name);
  }
  return text;
}

}  // namespace

std::vector<PlannedMemory> planned_memory(const Plan& plan) {
  const tilepost_plan_t runtime = plan;
  const RunSizes sizes = sizes_of(plan, runtime);
  const bool reads = plan.access == TILEPOST_ACCESS_READ;
  const bool pushes_rows = plan.pushes && plan.pattern == TILEPOST_ALL_GATHER_GEMM;
  const char* const others = reads || pushes_rows ? "shared" : "";
  const bool windows =
      plan.transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC && plan.arch != Arch::host;
  const char* const sent = windows ? "window" : others;
  std::vector<PlannedMemory> memory;
  const auto add = [&](const char* name, int64_t bytes, const char* shared) {
    if (bytes > 0) memory.push_back({name, bytes, shared});
  };
  if (plan.pattern == TILEPOST_ALL_GATHER_GEMM)
    add("gathered", plan.map.m * plan.k * bytes_of(plan.input), sent);
  if (stores_apart(runtime)) add("send", sizes.send * kOutputBytes, sent);
  add("slots", sizes.slots * kOutputBytes, "shared");
  add("sums", sizes.sums * kOutputBytes, "shared");
  add("landed", sizes.landed * kOutputBytes, "shared");
  add("scratch", plan.comm_lanes * sizes.scratch * kOutputBytes, "");
  add("received", sizes.receive * kOutputBytes, receives_in_windows(runtime) ? "window" : "");
  return memory;
}

std::string describe_memory(const Plan& plan) {
  const std::vector<PlannedMemory> memory = planned_memory(plan);
  const std::string own = list(memory, ""), shared = list(memory, "shared"),
                    windows = list(memory, "window");
  std::string text = own;
  const auto append = [&](const std::string& parts, const char* how) {
    if (!parts.empty()) text += (text.empty() ? "" : "; ") + parts + how;
  };
  append(shared, " shared with the other ranks");
  append(windows, " in symmetric windows");
  return text.empty() ? "none beside the caller's" : text + ", on every rank";
}

}  // namespace tilepost
