#include "runtime/cuda/op/warm_up.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "runtime/map/moved_scales.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

// Whether a step has the same count on every rank, as in collectives. The counts of messages
// between two ranks depend on their shares. One of the two may have seen the count before and the
// other not, so such a step is always carried out.
bool is_alike_everywhere(StepKind kind) {
  return kind == StepKind::all_reduce || kind == StepKind::reduce_scatter ||
         kind == StepKind::all_gather;
}

// Steps for a routed plan, which has no steps before its first route: equal parts to and from all
// ranks.
std::vector<Step> even_exchange(const PatternRow& row, int ranks, int64_t elements) {
  const StepKind send = row.moves_input() ? StepKind::send_own_rows : StepKind::send;
  const StepKind receive = row.moves_input() ? StepKind::receive_rows : StepKind::receive;
  std::vector<Step> steps;
  const int64_t part = elements / ranks;
  for (int peer = 0; peer < ranks; ++peer) {
    steps.push_back({send, peer, peer * part, 0, part, 0});
    steps.push_back({receive, peer, 0, peer * part, part, 0});
  }
  return steps;
}

// The steps of a collective as runs in sequence use it, over `count` elements in all.
std::vector<Step> collective_of(const PatternRow& row, int ranks, int64_t count) {
  const int64_t part = count / ranks;
  if (row.routes()) return even_exchange(row, ranks, count);
  if (row.moves_input()) return {{StepKind::all_gather, 0, 0, 0, part, 0}};
  if (row.product_spreads()) return {{StepKind::all_reduce, 0, 0, 0, count, 0}};
  return {{StepKind::reduce_scatter, 0, 0, 0, part, part}};
}

}  // namespace

tilepost_result_t WarmUp::run(const char* program, DeviceMap& planned) const {
  if (!row_of(plan_).communicates()) return finish(program);
  // This memory stands for the caller's out.
  DeviceMemory scratch;
  const auto bytes = static_cast<size_t>(scratch_bytes(planned.run.get()));
  if (bytes > 0) {
    TILEPOST_TRY(make_device_memory(scratch, bytes));
    TILEPOST_CUDA(cudaMemsetAsync(scratch.get(), 0, bytes, lanes_.stream()));
  }
  const tilepost_result_t result = run_with(program, planned, scratch.get());
  // Freeing the memory waits for the device, which an unfinished collective may occupy for ever.
  if (result == TILEPOST_TIMEOUT && !CounterAccess::drain(lanes_.stream())) scratch.leak();
  return result;
}

// The bytes of scratch memory. Where memory is shared, it has the elements that a run in sequence
// sends, and behind them those that the run receives.
int64_t WarmUp::scratch_bytes(const RunMap* planned) const {
  const bool gathers = row_of(plan_).moves_input();
  const RunSizes& sizes = buffers_.sizes();
  if (transports_.shared) {
    if (!paths_.has(false)) return 0;
    return gathers ? place_of_rows(plan_, plan_.map.m).bytes
                   : 2 * sizes.send * element_bytes(plan_.output);
  }
  if (gathers || buffers_.holds_all()) return 0;
  const int64_t out = planned != nullptr ? planned->sizes.out : 0;
  return std::max(sizes.send, out) * element_bytes(plan_.output);
}

// The number of elements that the largest run moves. For rows of A it is an equal part from each
// rank.
int64_t WarmUp::most_sent() const {
  if (!row_of(plan_).moves_input()) return buffers_.sizes().send;
  return plan_.map.m / plan_.ranks * plan_.ranks * plan_.k;
}

tilepost_result_t WarmUp::run_with(const char* program, DeviceMap& planned, void* scratch) const {
  TILEPOST_TRY(transports_.shared ? run_shared(scratch) : run_groups(planned.run.get(), scratch));
  planned.warm = true;
  if (is_routed(plan_)) TILEPOST_TRY(routes_.warm_up());
  return finish(program);
}

// Ranks that read or write each other's memory exchange once. NCCL has to be warmed up only for
// runs in sequence.
tilepost_result_t WarmUp::run_shared(void* scratch) const {
  TILEPOST_TRY(transports_.overlapping->warm_up(lanes_.stream()));
  if (scratch == nullptr) return TILEPOST_OK;
  const bool gathers = row_of(plan_).moves_input();
  const int64_t count = most_sent();
  Buffers buffers{};
  buffers.send = buffers.reduced = buffers.gathered = scratch;
  buffers.a = scratch;
  buffers.gathered_scales = reinterpret_cast<float*>(static_cast<char*>(scratch) +
                                                     place_of_rows(plan_, plan_.map.m).scales);
  buffers.scales = buffers.gathered_scales;
  if (!gathers) buffers.out = static_cast<char*>(scratch) + count * element_bytes(plan_.output);
  const std::vector<Step> steps = collective_of(row_of(plan_), plan_.ranks, count);
  return transports_.sequence->communicate(buffers, {steps, 0, 0}, lanes_.stream());
}

tilepost_result_t WarmUp::run_groups(const RunMap* planned, void* scratch) const {
  const RunPath path = path_of(plan_, transports_.overlapping != nullptr);
  const std::vector<std::vector<Step>> steps =
      planned != nullptr
          ? planned->steps
          : std::vector<std::vector<Step>>(lanes_.num(),
                                           even_exchange(row_of(plan_), plan_.ranks, most_sent()));
  tilepost_run_operands_t operands{};
  operands.out = scratch;
  Buffers buffers = buffers_.of(operands, path);
  buffers.a = buffers.gathered;
  buffers.scales = buffers.gathered_scales;
  if (!buffers.out) buffers.out = scratch;
  const RunRecord nothing{1, 1, true, 1, ~uint32_t{0}, 0, {0}, {0}};
  Run run{};
  run.bank = kEager;
  run.comm = lanes_.stream();
  run.record = &nothing;
  std::set<std::tuple<int, StepKind, int64_t>> seen;
  for (size_t g = 0; g < steps.size(); ++g) {
    if (steps[g].empty()) continue;
    const int lane = static_cast<int>(g) % lanes_.num();
    const Step& last = steps[g].back();
    const bool is_new = seen.insert({lane, last.kind, last.count}).second;
    if (is_alike_everywhere(last.kind) && !is_new) continue;
    // This waits for the value 0, which the first group's counter has already. So it tries out the
    // waiters.
    if (path.overlaps && path.waits == Waits::steps) TILEPOST_TRY(waits_.wait(run, 0));
    for (const auto* transport : {&transports_.overlapping, &transports_.sequence}) {
      const GroupRun group{steps[g], static_cast<int>(g),
                           transport == &transports_.sequence ? 0 : lane};
      if (*transport) TILEPOST_TRY((*transport)->communicate(buffers, group, run.comm));
    }
  }
  return transports_.rings ? transports_.overlapping->rejoin(run.comm) : TILEPOST_OK;
}

tilepost_result_t WarmUp::finish(const char* program) const {
  TILEPOST_TRY(state_.finish_in_time(
      lanes_.stream(), std::string("tilepost_op_create of '") + program + "': the first " +
                           state_.traits.collective + " did not finish"));
  store(state_.page()->progress[kEager], 0);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
