// `tilepost explain`: the plan for a reader.
#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/arch.h"
#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/cost/predict.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/report/describe.h"
#include "generator/plan/report/explain.h"
#include "generator/plan/report/lines.h"
#include "generator/plan/report/memory.h"
#include "generator/plan/report/ranges.h"
#include "generator/plan/report/timeline.h"
#include "generator/plan/transports/transports.h"
#include "generator/spec/names.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/patterns.h"
#include "runtime/map/quantised.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost {
namespace {

constexpr double kMib = 1 << 20;

double mib(int64_t bytes) {
  return static_cast<double>(bytes) / kMib;
}

// The rows that a rank multiplies; where tokens go to experts, if all ranks have as many.
int64_t multiplied_rows(const Plan& plan) {
  return row_of(plan).has_tokens() ? plan.map.m * plan.top / plan.ranks : plan.map.m;
}

// Of the products of a run, sums of gate and of up included.
double flops_of(const Plan& plan) {
  const int64_t columns = rows_of_expert(plan.epilogue, plan.map.n);
  return 2.0 * static_cast<double>(multiplied_rows(plan)) * static_cast<double>(columns) *
         static_cast<double>(plan.k);
}

// Whether the rank ends with less than the kernel stores.
bool ends_with_less(const Plan& plan) {
  return row_of(plan).product_leaves();
}

// "scale, bias, gelu"
std::string epilogue_of(const Plan& plan) {
  std::string names;
  for (const Spelling& operation : spellings<tilepost_epilogue_op_t>())
    if ((plan.epilogue & operation.value) != 0)
      names += (names.empty() ? "" : ", ") + std::string(operation.text);
  return names;
}

void print_problem(std::string& out, const Plan& plan) {
  const double flops = flops_of(plan);
  std::string types = name_of(plan.input);
  if (plan.input != plan.output || plan.quantised)
    types +=
        fmt::format(" summed {0}, {1} out", name_of(plan.accumulate), name_of(type_of_out(plan)));
  if (plan.scales != TILEPOST_SCALES_NONE)
    types +=
        fmt::format(", scales of {0}, A's in {1}", name_of(plan.scales), name_of(plan.scales_a));
  line(out, "problem", describe_product(plan, "C") + ", " + types);
  if (plan.quantised)
    line(out, "",
         fmt::format("{0} {1}, with {2} scales of a row in {3}: {4} bytes of each row",
                     quantises_tiles(plan) ? "the kernel stores" : "the consumer writes",
                     name_of(type_of_out(plan)), scale_blocks(plan.map.n), name_of(plan.scales_out),
                     bytes_of_row_of_out(plan)));
  if (plan.any_m)
    line(out, "",
         fmt::format("{0} rows are a bound: every run has an m of its own", rows_of_runs(plan)));
  if (row_of(plan).input_is_routed())
    line(out, "",
         fmt::format("every rank has {0}{1} rows of A and multiplies what it receives, at most {2}",
                     plan.any_m ? "at most " : "", plan.rows_sent, plan.map.m));
  if (const MovedScales scales = moved_scales(plan); scales.exist())
    line(out, "",
         fmt::format("scales of A move with its rows: {0} bytes beside the {1} of each",
                     scales.row_bytes(), plan.k * bytes_of(plan.input)));
  if (plan.epilogue != 0) line(out, "", "then " + epilogue_of(plan));
  line(out, "",
       fmt::format("{0:.1f} GFLOP and {1:.1f} MiB of {2} on each rank", flops / 1e9,
                   mib(multiplied_rows(plan) * (quantises_tiles(plan)
                                                    ? bytes_of_row_of_out(plan)
                                                    : plan.map.n * bytes_of(plan.output))),
                   ends_with_less(plan) ? "product" : "output"));
  if (row_of(plan).has_tokens())
    line(out, "",
         fmt::format(
             "that is {0} rows, if each expert has as many; a rank has at most {1}{2}, {3:.1f} "
             "MiB of {4}",
             multiplied_rows(plan), plan.most_rows,
             plan.most_rows < plan.map.m * plan.top ? " (max_rows)" : "",
             mib(plan.most_rows * plan.map.n * bytes_of(plan.output)),
             row_of(plan).dispatches() ? "output" : "product"));
}

// "cluster 2": the tiles of a cluster. Where several CTAs have a tile, their number follows.
std::string cluster_of(const Plan& plan) {
  std::string text = fmt::format("cluster {0}", plan.map.cluster);
  if (plan.kernel.cluster > plan.map.cluster)
    text += fmt::format(", {0} CTAs for each tile", plan.kernel.cluster / plan.map.cluster);
  return text;
}

// The rate of a kernel of the user's own, which the planner cannot know.
std::string rate_of(const KernelSpec& kernel) {
  const double percent = 100 * kernel.efficiency.value;
  return kernel.efficiency.given()
             ? fmt::format(
                   "its rate is {0:.3g}% of the tensor cores' peak, as kernel.efficiency "
                   "says",
                   percent)
             : fmt::format(
                   "its rate is taken for {0:.3g}% of the tensor cores' peak: measure it, "
                   "and say kernel.efficiency",
                   percent);
}

void print_kernel(std::string& out, const Plan& plan) {
  const tilepost_kernel_t& kernel = plan.kernel;
  if (plan.arch == Arch::host)
    return line(out, "kernel",
                fmt::format("{0}: tile {1}x{2}, cluster {3}", kernel.name, plan.map.tile_m,
                            plan.map.tile_n, plan.map.cluster));
  const int64_t bound = arch_info(plan.arch).shared_per_block;
  if (plan.source.own)
    line(out, "kernel",
         fmt::format("{0}: tile {1}x{2}, {3} threads{4}", kernel.name, plan.map.tile_m,
                     plan.map.tile_n, kernel.threads,
                     kernel.tile_per_cta ? ", a CTA for each tile" : ""));
  else
    line(out, "kernel",
         fmt::format("{0}: tile {1}x{2}x{3}, {4} stages, {5}, {6} threads", kernel.name,
                     plan.map.tile_m, plan.map.tile_n, kernel.tile_k, plan.source.stages,
                     cluster_of(plan), kernel.threads));
  if (plan.source.own && plan.source.own->spec.cutlass.value)
    line(out, "", "by CUTLASS, whose type of it says its shared memory; 1 CTA per SM");
  else
    line(out, "",
         fmt::format(
             "{0} of {1} bytes of {2}shared memory ({3:.0f}%), {4} per SM", kernel.shared_bytes,
             bound, plan.source.own ? "dynamic " : "",
             100.0 * static_cast<double>(kernel.shared_bytes) / static_cast<double>(bound),
             kernel.ctas_per_sm == 1 ? "1 CTA" : fmt::format("{0} CTAs", kernel.ctas_per_sm)));
  if (plan.source.own) line(out, "", rate_of(plan.source.own->spec));
}

// What the SMs do that the GEMM leaves free.
const char* use_of_sms(const Plan& plan) {
  const bool copied = plan.planned_transport == TILEPOST_TRANSPORT_HOST_COPIES;
  if (plan.access == TILEPOST_ACCESS_MESSAGES && !copied) return "collective";
  if (plan.task_parts > 0 || plan.reads_own != 0) return "announcements";
  return row_of(plan).sums ? "sums" : "copies";
}

void print_budget(std::string& out, const Plan& plan) {
  const int gemm = (plan.gemm_ctas + plan.kernel.ctas_per_sm - 1) / plan.kernel.ctas_per_sm;
  const bool beside = plan.comm_ctas > 0;
  const int waiter = beside ? 1 : 0;
  const int idle = plan.sms - gemm - plan.comm_ctas - waiter;
  std::string text = fmt::format("{0} = {1} GEMM", plan.sms, gemm);
  if (beside) text += fmt::format(" + {0} {1} + 1 waiter", plan.comm_ctas, use_of_sms(plan));
  if (idle > 0) text += fmt::format(" + {0} idle", idle);
  line(out, plan.arch == Arch::host ? "workers" : "SMs", text);
}

std::string transport_line(const Plan& plan) {
  std::string text = name_of(plan.planned_transport);
  if (plan.access == TILEPOST_ACCESS_WRITE && row_of(plan).sums)
    text += std::string(", parts ") + name_of(plan.sum);
  if (plan.comm_ctas > 0) {
    text += transport_of(plan.planned_transport).lanes_take_ctas()
                ? fmt::format(", CTAs at most {0}", plan.comm_ctas)
                : fmt::format(", {0} SM{1} for {2}", plan.comm_ctas, plan.comm_ctas == 1 ? "" : "s",
                              use_of_sms(plan));
    text += fmt::format(" in {0} lane{1}", plan.comm_lanes, plan.comm_lanes == 1 ? "" : "s");
  }
  if (plan.access == TILEPOST_ACCESS_TILES)
    text += std::string(", ") + words_of(plan.shots);
  else if (plan.access != TILEPOST_ACCESS_WRITE)
    text += std::string(", wait ") + name_of(plan.wait);
  if (plan.pace > 0) text += fmt::format(", a store every {0} cycles", plan.pace);
  return text;
}

const char* why_safe(Waits waits) {
  switch (waits) {
    case Waits::launches:
      return "the GEMM is launched for each group when its rows have come";
    case Waits::kernel:
      return "all rows come before the GEMM, which waits for no rank";
    case Waits::steps:
    case Waits::tiles:
      break;
  }
  return "the GEMM ends without waiting for other ranks";
}

// What makes the plan safe, and what that costs.
void print_neighbours(std::string& out, const Plan& plan) {
  if (plan.neighbours == 0 || !row_of(plan).communicates()) return;
  line(out, "neighbours",
       fmt::format("safe beside other communicators' collectives in any order: {0}",
                   why_safe(paths_of(plan).planned.waits)));
  const Prediction& prediction = plan.prediction;
  if (prediction.without_neighbours <= 0) return;
  const double cost = prediction.total - prediction.without_neighbours;
  line(out, "",
       cost < 0.5 ? fmt::format("costs nothing: {0:.0f} us with and without", prediction.total)
                  : fmt::format("costs {0:.0f} us of {1:.0f}: {2:.0f} us without", cost,
                                prediction.total, prediction.without_neighbours));
}

// ", the last with 40"; or the number of launches, where each of several has a last wave.
std::string last_waves(const Plan& plan) {
  if (const int launches = num_launches(plan); launches > 1)
    return fmt::format(" in {0} launches", launches);
  const auto positions = static_cast<int64_t>(plan.tile_map().tiles.size());
  return fmt::format(", the last with {0}", positions - int64_t{plan.waves - 1} * plan.at_once());
}

void print_schedule(std::string& out, const Plan& plan) {
  const int of_tile = plan.gemm_ctas / plan.at_once();
  const std::string ctas = of_tile == 1 ? std::to_string(plan.gemm_ctas)
                                        : fmt::format("{0} x {1}", plan.at_once(), of_tile);
  const int64_t columns = (plan.map.n + plan.map.tile_n - 1) / plan.map.tile_n;
  const int64_t positions = static_cast<int64_t>(plan.tile_map().tiles.size());
  const int64_t stored = std::ranges::count_if(
      plan.tile_map().tiles, [](const tilepost_tile_t& tile) { return tile.row >= 0; });
  const int64_t slots = int64_t{plan.waves} * plan.at_once();
  std::string padding;
  if (positions != stored) padding = fmt::format(" + {0} padding", positions - stored);
  line(out, "tiles",
       fmt::format("{0} x {1} = {2}{3}, bands of {4} tile rows", stored / columns, columns, stored,
                   padding, plan.map.band));
  line(out, "waves",
       fmt::format("{0} of {1} CTAs{2}; {3:.1f}% of the CTAs' time has a tile", plan.waves, ctas,
                   last_waves(plan),
                   100.0 * static_cast<double>(positions) / static_cast<double>(slots)));
  const bool rows = plan.map.division == TILEPOST_DIVISION_ROWS;
  line(out, "layout",
       fmt::format("{0}, {1}consumer {2}", name_of(plan.map.layout),
                   rows ? "" : std::string("groups of ") + name_of(plan.map.division) + ", ",
                   name_of(plan.consumer)));
  line(out, "transport",
       !row_of(plan).communicates() ? std::string("none: every rank keeps its own product")
       : plan.transport == TILEPOST_TRANSPORT_NONE
           ? std::string(row_of(plan).moves_input() ? "none: one collective, then the GEMM"
                                                    : "none: the GEMM, then one collective")
           : transport_line(plan));
  for (const std::string& text : transport_of(plan.planned_transport).describe(plan))
    line(out, "", text);
  print_neighbours(out, plan);
  if (row_of(plan).communicates()) line(out, "memory", describe_memory(plan));
}

// What the groups are ranges of.
const char* range_name(const Plan& plan) {
  switch (plan.map.division) {
    case TILEPOST_DIVISION_SHARES:
    case TILEPOST_DIVISION_ARRIVALS:
      return "share rows";
    case TILEPOST_DIVISION_COLUMNS:
      return "columns";
    case TILEPOST_DIVISION_ROWS:
      break;
  }
  return plan.map.layout == TILEPOST_PANEL ? "rows" : "slots";
}

// Where shares arrive in turns: the rows of each share that arrive with the group. "+2 0-1023" are
// rows of the second rank behind this one.
std::string arriving_ranges(const tilepost_map_t& map, int group) {
  std::string text;
  for (int distance = 1; distance < map.ranks; ++distance) {
    const SharePart part = arriving_part(map, {}, group, distance, 0);
    const int64_t first = part.first * map.tile_m;
    const int64_t end = std::min(part.end * map.tile_m, share_rows(map));
    if (first < end)
      text += fmt::format("{0}+{1} {2}-{3}", text.empty() ? "" : ", ", distance, first, end - 1);
  }
  return text;
}

// The range of a group.
std::string range_of(const Plan& plan, size_t g) {
  const tilepost_map_t map = plan.map;
  const auto from_cuts = [&](int64_t unit, int64_t most) {
    const int64_t first = g == 0 ? 0 : map.cuts[g - 1] * unit;
    return fmt::format("{0}-{1}", first, std::min(map.cuts[g] * unit, most) - 1);
  };
  switch (plan.map.division) {
    case TILEPOST_DIVISION_SHARES:
      return from_cuts(map.tile_m, share_rows(map));
    case TILEPOST_DIVISION_ARRIVALS:
      if (g == 0) return "own";
      return map.round_robin != 0 ? arriving_ranges(map, static_cast<int>(g))
                                  : from_cuts(map.tile_m, share_rows(map));
    case TILEPOST_DIVISION_COLUMNS:
      return from_cuts(map.tile_n, map.n);
    case TILEPOST_DIVISION_ROWS:
      break;
  }
  const tilepost_group_t& group = plan.tile_map().groups[g];
  if (row_of(plan).moves_input()) return fmt::format("0-{0}", plan.map.m - 1);
  const int64_t unit =
      plan.map.layout == TILEPOST_PANEL ? plan.map.n : int64_t{plan.map.tile_m} * plan.map.tile_n;
  return fmt::format("{0}-{1}", group.offset / unit, (group.offset + group.count) / unit - 1);
}

void print_groups(std::string& out, const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  const bool timed = !prediction.group_ready.empty(), sent = row_of(plan).communicates();
  std::vector<std::string> header = {"group", "waves", "tiles", range_name(plan), "MiB", "target"};
  if (timed) header.push_back("ready us");
  if (timed && sent) header.insert(header.end(), {"start us", "end us", "GB/s"});
  const bool steps = row_of(plan).has_shares(plan.access) && plan.access != TILEPOST_ACCESS_TILES;
  if (steps) header.push_back("on rank 0");
  Table table(std::move(header));
  for (size_t g = 0; g < plan.tile_map().groups.size(); ++g) {
    const tilepost_group_t& group = plan.tile_map().groups[g];
    const int64_t bytes = bytes_of_group(plan, g);
    std::vector<std::string> cells = {
        std::to_string(g), std::to_string(plan.group_waves[g]), std::to_string(group.num_tiles),
        range_of(plan, g), fmt::format("{0:.2f}", mib(bytes)),  std::to_string(group.target)};
    if (timed) cells.push_back(fmt::format("{0:.1f}", prediction.group_ready[g]));
    if (timed && sent) {
      const double start = prediction.collective_start[g], end = prediction.collective_end[g];
      const double rate = end > start ? static_cast<double>(bytes) * 1e-3 / (end - start) : 0;
      cells.push_back(fmt::format("{0:.1f}", start));
      cells.push_back(fmt::format("{0:.1f}", end));
      cells.push_back(fmt::format("{0:.0f}", rate));
    }
    if (steps) cells.push_back(count_steps(plan, g));
    table.add(std::move(cells));
  }
  table.print(out);
}

// What runs with fewer rows do.
void print_any_m(std::string& out, const Plan& plan) {
  if (!rows_vary(plan) || !row_of(plan).communicates()) return;
  const bool timed = !plan.prediction.group_ready.empty();
  const bool received = row_of(plan).input_is_routed() && is_routed(plan);
  const char* const rows = received ? "most received" : "m";
  std::vector<std::string> header = {rows, "groups", "tiles", "waves"};
  if (timed) header.push_back("end us");
  Table table(std::move(header));
  for (int64_t m = plan.least_m; m < most_in_runs(plan); m *= 4) {
    const Plan run = plan_of_run(plan, m);
    std::vector<std::string> cells = {
        std::to_string(m),
        run.transport == TILEPOST_TRANSPORT_NONE ? "no overlap" : std::to_string(run.cuts().size()),
        std::to_string(run.tile_map().tiles.size()), std::to_string(run.waves)};
    if (timed) cells.push_back(fmt::format("{0:.1f}", run.prediction.total));
    table.add(std::move(cells));
  }
  out += "\n";
  table.print(out);
}

void print_tuning(std::string& out, const Plan& plan) {
  if (plan.tuned.known())
    line(out, "",
         fmt::format("chosen by tuning file '{}': {:.1f} us measured on {}", plan.tuned.file,
                     plan.tuned.us, plan.tuned.machine));
}

void print_prediction(std::string& out, const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  if (prediction.group_ready.empty())
    return line(out, "prediction", "none: the host target is for correctness, not for speed");
  const double flops = flops_of(plan);
  const std::string profile = fmt::format("machine profile: {0}", plan.profile);
  if (!row_of(plan).communicates()) {
    line(out, "prediction",
         fmt::format("{0:.0f} us ({1:.0f} TFLOP/s)", prediction.gemm,
                     flops / prediction.gemm * 1e-6));
    line(out, "", profile);
    return print_tuning(out, plan);
  }
  line(
      out, "prediction",
      fmt::format("{0:.0f} us in all; GEMM {1:.0f} us ({2:.0f} TFLOP/s), {3:.0f} us of {4} exposed",
                  prediction.total, prediction.gemm, flops / prediction.gemm * 1e-6,
                  prediction.total - prediction.gemm,
                  plan.access == TILEPOST_ACCESS_MESSAGES ? "collectives" : "what follows it"));
  line(out, "",
       fmt::format("{0:.0f} us for {1}: {2:.2f}x", prediction.sequence, sequence_text(plan.pattern),
                   prediction.sequence / prediction.total));
  line(out, "", profile);
  print_tuning(out, plan);
}

// What the halves of a layer have in common, which stands before them: the plans of the first half
// for one architecture and the plan of the second.
std::string explain_layer(const Plan& first, const Plan& second) {
  std::string out;
  const std::string title =
      fmt::format("{0}: {1} on {2}", first.name, kLayerPattern.text, name_of(first.arch));
  out += title + "\n" + std::string(title.size(), '=') + "\n";
  line(out, "halves",
       fmt::format("{0}, then {1}: one operation, whose runs may route their tokens",
                   name_of(first.pattern), name_of(second.pattern)));
  line(out, "rows",
       fmt::format("{0:.1f} MiB between the halves at the worst routing, which all layers of a "
                   "routing share",
                   mib(first.most_rows * first.map.n * bytes_of(first.output))));
  if (const double us = first.prediction.total + second.prediction.total; us > 0)
    line(out, "prediction", fmt::format("{0:.0f} us for both halves, without the routing", us));
  return wrapped(out) + "\n";
}

}  // namespace

std::string explain_plans(const std::vector<Plan>& plans, const Measured* measured) {
  std::string out;
  for (const Plan& plan : plans) {
    if (plan.half == Half::first && plan.range == 0)
      out += explain_layer(plan, second_half_of(plans, plan));
    if (plan.half == Half::second && plan.range == 0) out += "\n";
    if (plan.takes_turns() && plan.range == 0)
      out += explain_ranges(ranges_with(plans, plan)) + "\n";
    out += explain_plan(plan, &plan == &plans.front() ? measured : nullptr);
  }
  return out;
}

std::string explain_plan(const Plan& plan, const Measured* measured) {
  std::string out;
  std::string title =
      fmt::format("{0}: {1} on {2}", plan.name, name_of(plan.pattern), name_of(plan.arch));
  if (plan.half != Half::none) title += fmt::format(", the {0} half", name_of(plan.half));
  out += title + "\n" + std::string(title.size(), '=') + "\n";
  print_problem(out, plan);
  print_kernel(out, plan);
  print_budget(out, plan);
  print_schedule(out, plan);
  print_prediction(out, plan);
  out += "\n";
  print_groups(out, plan);
  print_any_m(out, plan);
  const std::string timeline = draw_timeline(plan, measured);
  if (!timeline.empty()) out += "\n" + timeline;
  if (!plan.reasons.empty()) out += "\nwhy\n";
  for (const std::string& reason : plan.reasons) out += "  " + reason + "\n";
  return wrapped(out);
}

}  // namespace tilepost
