#include "generator/plan/report/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string_view>

#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/report/lines.h"
#include "generator/plan/report/memory.h"
#include "generator/plan/transports/transports.h"
#include "generator/spec/names.h"

namespace tilepost {
namespace {

double mib(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

std::string us_of(const Plan& plan, int64_t m) {
  return fmt::format("{:.1f}", plan_of_run(plan, m).prediction.total);
}

// "1-64".
std::string rows_text(const Plan& plan) {
  return fmt::format("{}-{}", plan.least_m, rows_of_runs(plan));
}

std::string transport_text(const Plan& plan) {
  const std::string name = name_of(plan.planned_transport);
  return plan.access == TILEPOST_ACCESS_TILES ? name + ", " + words_of(plan.shots) : name;
}

// Whether other plans' runs may use the memory that ranks share (runtime/cuda/shared/service.h).
bool shares_its_memory(const Plan& plan) {
  const bool keeps_zeros = path_of(plan, true).stores_by_owner && plan.sum == TILEPOST_SUM_ADDED;
  return plan.shots != TILEPOST_ONE_SHOT_LINES && !keeps_zeros;
}

// Memory that ranks share: what is pushed into, and the rest (runtime/cuda/shared/layout.h).
struct SharedBytes {
  int64_t front = 0, pushed = 0;
  int64_t all() const { return front + pushed; }
};
SharedBytes shared_bytes(const Plan& plan) {
  const bool pushes = path_of(plan, true).pushes == Pushes::results;
  SharedBytes bytes;
  for (const PlannedMemory& part : planned_memory(plan)) {
    if (part.shared != std::string_view("shared")) continue;
    (pushes && part.name == std::string_view("landed") ? bytes.pushed : bytes.front) += part.bytes;
  }
  return bytes;
}

int64_t bytes_of_others(const Plan& plan) {
  int64_t bytes = 0;
  for (const PlannedMemory& part : planned_memory(plan))
    if (part.shared != std::string_view("shared") && part.shared != std::string_view("pinned"))
      bytes += part.bytes;
  return bytes;
}

// The memory that the plans share has room for any of them (runtime/cuda/shared/service.h).
std::string memory_text(const std::vector<const Plan*>& plans) {
  int64_t front = 0, pushed = 0, alone = 0, other = 0;
  for (const Plan* plan : plans) {
    other += bytes_of_others(*plan);
    const SharedBytes bytes = shared_bytes(*plan);
    if (!shares_its_memory(*plan)) {
      alone += bytes.all();
      continue;
    }
    front = std::max(front, bytes.front);
    pushed = std::max(pushed, bytes.pushed);
  }
  const int64_t shared = front + pushed + alone;
  if (shared + other == 0) return "none beside the caller's";
  return fmt::format("{0:.1f} MiB on every rank, {1:.1f} MiB of it shared with the other ranks",
                     mib(shared + other), mib(shared));
}

}  // namespace

std::vector<const Plan*> ranges_with(const std::vector<Plan>& plans, const Plan& first) {
  std::vector<const Plan*> ranges;
  for (const Plan& plan : plans)
    if (plan.arch == first.arch && plan.half == first.half) ranges.push_back(&plan);
  return ranges;
}

std::string explain_ranges(const std::vector<const Plan*>& plans) {
  const Plan& whole = *plans.front();
  const std::string title = fmt::format("{0}: {1} on {2}, {3} kernels for ranges of m", whole.name,
                                        name_of(whole.pattern), name_of(whole.arch), plans.size());
  std::string out = title + "\n" + std::string(title.size(), '=') + "\n";
  const bool timed = whole.arch != Arch::host;
  std::vector<std::string> header = {"m", "kernel", "tile", "transport"};
  if (timed) header.insert(header.end(), {"first us", "last us", "by the last kernel"});
  Table table(std::move(header));
  for (const Plan* plan : std::views::reverse(plans)) {
    std::vector<std::string> cells = {rows_text(*plan), plan->kernel.name,
                                      fmt::format("{0}x{1}", plan->map.tile_m, plan->map.tile_n),
                                      transport_text(*plan)};
    const int64_t first = plan->least_m, last = rows_of_runs(*plan);
    if (timed)
      cells.insert(cells.end(), {us_of(*plan, first), us_of(*plan, last),
                                 us_of(whole, first) + "-" + us_of(whole, last)});
    table.add(std::move(cells));
  }
  table.print(out);
  out += "\n";
  line(out, "memory", memory_text(plans));
  return wrapped(out);
}

}  // namespace tilepost
