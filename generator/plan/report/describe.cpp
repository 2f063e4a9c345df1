#include "generator/plan/report/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/map/patterns.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost {
namespace {

std::string shape(int64_t rows, int64_t columns) {
  return fmt::format("[{0}, {1}]", rows, columns);
}

const char* kind_name(StepKind kind) {
  switch (kind) {
    case StepKind::all_reduce:
      return "all_reduce";
    case StepKind::reduce_scatter:
      return "reduce_scatter";
    case StepKind::send:
      return "send";
    case StepKind::receive:
      return "receive";
    case StepKind::own_rows:
      return "own_rows";
    case StepKind::all_gather:
      return "all_gather";
    case StepKind::send_rows:
      return "send_rows";
    case StepKind::send_own_rows:
      return "send_own_rows";
    case StepKind::receive_rows:
      return "receive_rows";
    case StepKind::announce:
      return "announce";
    case StepKind::pull_part:
      return "pull_part";
    case StepKind::pull:
      return "pull";
    case StepKind::sum:
      return "sum";
    case StepKind::announce_sums:
      return "announce_sums";
    case StepKind::pull_sums:
      return "pull_sums";
    case StepKind::push_sums:
      return "push_sums";
    case StepKind::landed_sums:
      return "landed_sums";
    case StepKind::push_rows:
      return "push_rows";
    case StepKind::landed_rows:
      return "landed_rows";
    case StepKind::own_part:
      return "own_part";
    case StepKind::landed_part:
      return "landed_part";
  }
  std::abort();
}

std::string routed_to(const Plan& plan) {
  switch (plan.routing) {
    case TILEPOST_ROUTING_EVEN:
      return "an equal part of each rank's rows";
    case TILEPOST_ROUTING_SPLITS:
      return "each rank's split for this rank";
    case TILEPOST_ROUTING_ROWS:
      return "each rank's rows routed to this rank";
  }
  std::abort();
}

}  // namespace

std::string describe_product(const Plan& plan, const std::string& out) {
  const bool nn = plan.operands == TILEPOST_NN;
  const std::string a = "A" + shape(plan.map.m, plan.k);
  const int64_t rows_of_b = rows_of_expert(plan.epilogue, plan.map.n);
  std::string b = "B" + (nn ? shape(plan.k, rows_of_b) : shape(rows_of_b, plan.k) + "^T");
  if (plan.experts > 0) b += fmt::format(" of each row's expert, of {0}", plan.experts);
  const std::string whole = out + shape(plan.map.m, plan.map.n) + " = ";
  const int64_t share = share_rows(plan.map);
  const PatternRow& row = row_of(plan);
  if (row.dispatches())
    return fmt::format(
               "{0}[rows, {1}] = rows of A{2} by their tokens' top {3}, {4} tokens from each "
               "of {5} ranks, * ",
               out, plan.map.n, shape(plan.map.m, plan.k), plan.top, share, plan.ranks) +
           b;
  if (row.combines())
    return fmt::format(
               "{0}{1} = this rank's tokens of {2}, the sum of their top {3} rows of A[rows, "
               "{4}] on {5} ranks, by weights, * ",
               out, shape(share, plan.map.n), plan.map.m, plan.top, plan.k, plan.ranks) +
           b;
  if (row.input_is_routed())
    return fmt::format("{0}[rows, {1}] = A[rows, {2}], {3}, {4} ranks, * ", out, plan.map.n, plan.k,
                       routed_to(plan), plan.ranks) +
           b;
  if (row.moves_input())
    return whole + a + fmt::format(", {0} rows from each of {1} ranks, * ", share, plan.ranks) + b;
  const std::string product = a + " * " + b;
  if (!row.communicates()) return whole + product;
  if (row.routes())
    return fmt::format("{0}[rows, {1}] = {2}, {3} ranks, of ", out, plan.map.n, routed_to(plan),
                       plan.ranks) +
           product;
  const std::string sum = fmt::format("sum over {0} ranks of ", plan.ranks) + product;
  return row.out_is_share() ? out + shape(share, plan.map.n) + " = this rank's rows of the " + sum
                            : whole + sum;
}

int num_launches(const Plan& plan) {
  if (paths_of(plan).planned.waits != Waits::launches) return 1;
  const auto has_tiles = [](const tilepost_group_t& group) { return group.num_tiles > 0; };
  return static_cast<int>(std::ranges::count_if(plan.tile_map().groups, has_tiles));
}

const char* panel_text(tilepost_pattern_t pattern) {
  const PatternRow& row = row_of(pattern);
  if (!row.communicates()) return "the output is row-major";
  if (row.moves_input()) return "nothing is sent after the GEMM, its output is row-major";
  return row.product_spreads() ? "groups of whole rows are contiguous in a row-major output"
                               : "every rank ends with whole rows, in order and row-major";
}

std::vector<Step> planned_steps(const Plan& plan, size_t group) {
  if (is_routed(plan)) return {};
  const Exchange exchange = exchange_of(plan);
  RowCounts counts;
  if (row_of(plan).input_is_routed())
    counts = even_input_counts(plan.ranks, plan.rows_sent);
  else if (row_of(plan).routes())
    counts = even_counts(exchange);
  return steps_of(exchange, plan.tile_map(), static_cast<int>(group), 0, counts);
}

std::string describe_step(const Plan& plan, const Step& step) {
  const std::string kind = kind_name(step.kind);
  switch (step.kind) {
    case StepKind::all_reduce:
      return fmt::format("{0} {1}, {2}", kind, step.from, step.count);
    case StepKind::reduce_scatter: {
      const std::string text =
          fmt::format("{0} {1} -> {2}, {3} for each rank", kind, step.from, step.to, step.count);
      return step.keep == step.count ? text : text + fmt::format(", {0} kept", step.keep);
    }
    case StepKind::all_gather:
      return fmt::format("{0} {1}, {2} from each rank", kind, step.from, step.count);
    case StepKind::own_rows:
      return fmt::format("{0} {1} -> {2}, {3}", kind, step.from, step.to, step.count);
    case StepKind::send:
    case StepKind::send_rows:
    case StepKind::send_own_rows:
      return fmt::format("{0} {1} to rank {2}, {3}", kind, step.from, step.peer, step.count);
    case StepKind::receive:
    case StepKind::receive_rows:
      return fmt::format("{0} {1} from rank {2}, {3}", kind, step.to, step.peer, step.count);
    case StepKind::announce:
    case StepKind::announce_sums:
      return kind;
    case StepKind::pull_part:
    case StepKind::pull:
    case StepKind::pull_sums:
    case StepKind::landed_sums:
    case StepKind::landed_rows:
    case StepKind::landed_part:
      return fmt::format("{0} {1} of rank {2} -> {3}, {4}", kind, step.from, step.peer, step.to,
                         step.count);
    case StepKind::push_sums:
    case StepKind::push_rows:
      return fmt::format("{0} {1} -> {2} of rank {3}, {4}", kind, step.from, step.to, step.peer,
                         step.count);
    case StepKind::sum:
      if (plan.access == TILEPOST_ACCESS_WRITE)
        return fmt::format("{0} slots {1} -> {2}, {3}", kind, step.from_slot, step.to, step.count);
      return fmt::format("{0} {1} and slots {2} -> {3}, {4}", kind, step.from, step.from_slot,
                         step.to, step.count);
    case StepKind::own_part:
      return fmt::format("{0} {1} -> {2}, {3}", kind, step.from, step.to, step.count);
  }
  std::abort();
}

std::string count_steps(const Plan& plan, size_t group) {
  if (is_routed(plan)) return "as routed";
  std::vector<std::pair<StepKind, int>> kinds;
  for (const Step& step : planned_steps(plan, group)) {
    if (step.kind == StepKind::announce || step.kind == StepKind::announce_sums) continue;
    auto it =
        std::ranges::find_if(kinds, [&](const auto& kind) { return kind.first == step.kind; });
    if (it == kinds.end()) it = kinds.insert(it, {step.kind, 0});
    ++it->second;
  }
  std::string text;
  for (const auto& [kind, count] : kinds)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind_name(kind);
  return text;
}

}  // namespace tilepost
