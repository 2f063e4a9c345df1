// Running collectives once before a run needs them: NCCL makes its connections, buffers and kernels
// on first use, by kind and size, and waits for the device then.
#include <algorithm>
#include <set>
#include <tuple>

#include "runtime/cuda/device/stream_wait.h"
#include "runtime/cuda/op/op.h"
#include "runtime/cuda/shared/layout.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

// Collectives have the same count on every rank. What two ranks send each other depends on their
// shares: one may have seen its like before and the other not, so that is always done.
bool is_alike_everywhere(StepKind kind) {
  return kind == StepKind::all_reduce || kind == StepKind::reduce_scatter ||
         kind == StepKind::all_gather;
}

// Steps of a routed plan, which has none before its first route: equal parts to and from everybody.
std::vector<Step> even_exchange(int ranks, int64_t elements) {
  std::vector<Step> steps;
  const int64_t part = elements / ranks;
  for (int peer = 0; peer < ranks; ++peer) {
    steps.push_back({StepKind::send, peer, peer * part, 0, part, 0});
    steps.push_back({StepKind::receive, peer, 0, peer * part, part, 0});
  }
  return steps;
}

// A collective of the kind that runs in sequence make, `count` elements in all.
std::vector<Step> collective_of(tilepost_pattern_t pattern, int ranks, int64_t count) {
  const int64_t part = count / ranks;
  switch (pattern) {
    case TILEPOST_GEMM:
      break;
    case TILEPOST_GEMM_ALL_REDUCE:
      return {{StepKind::all_reduce, 0, 0, 0, count, 0}};
    case TILEPOST_GEMM_REDUCE_SCATTER:
      return {{StepKind::reduce_scatter, 0, 0, 0, part, part}};
    case TILEPOST_GEMM_ALL_TO_ALL:
      return even_exchange(ranks, count);
    case TILEPOST_ALL_GATHER_GEMM:
      return {{StepKind::all_gather, 0, 0, 0, part, 0}};
  }
  return {};
}

}  // namespace

tilepost_result_t CudaOp::warm_up() {
  if (plan_->pattern == TILEPOST_GEMM) return finish_warm_up();
  // What stands for the caller's out.
  DeviceMemory scratch;
  const auto bytes = static_cast<size_t>(scratch_bytes());
  if (bytes > 0) {
    TILEPOST_TRY(make_device_memory(scratch, bytes));
    TILEPOST_CUDA(cudaMemsetAsync(scratch.get(), 0, bytes, comm_stream_.get()));
  }
  const tilepost_result_t result = warm_up_with(scratch.get());
  // Freeing it waits for the device, which an unfinished collective may occupy for ever.
  if (result == TILEPOST_TIMEOUT && !CounterAccess::drain(comm_stream_.get())) scratch.leak();
  return result;
}

// Where memory is shared: what a run in sequence sends and, behind it, what it receives.
int64_t CudaOp::scratch_bytes() const {
  if (shared() != nullptr) {
    if (!has_runs(*plan_, false)) return 0;
    return gathers() ? plan_->map.m * plan_->k * element_bytes(plan_->input)
                     : 2 * sizes_.send * element_bytes(plan_->output);
  }
  if (gathers() || (send_ && received_)) return 0;
  const RunMap* plan = maps_.planned()->run.get();
  return std::max(sizes_.send, plan != nullptr ? plan->sizes.out : 0) * int64_t{sizeof(uint16_t)};
}

tilepost_result_t CudaOp::warm_up_with(void* scratch) {
  TILEPOST_TRY(shared() != nullptr ? warm_up_shared(scratch) : warm_up_groups(scratch));
  maps_.planned()->warm = true;
  if (is_routed(*plan_)) TILEPOST_TRY(warm_up_exchange());
  return finish_warm_up();
}

// Ranks that touch each other's memory go through one round of it; NCCL has only the runs in
// sequence to make ready for.
tilepost_result_t CudaOp::warm_up_shared(void* scratch) {
  TILEPOST_TRY(state_.transports.overlapping->warm_up(comm_stream_.get()));
  if (scratch == nullptr) return TILEPOST_OK;
  const int64_t count =
      gathers() ? plan_->map.m / plan_->ranks * plan_->ranks * plan_->k : sizes_.send;
  Buffers buffers{};
  buffers.send = buffers.reduced = buffers.gathered = scratch;
  if (!gathers())
    buffers.out = static_cast<char*>(scratch) + sizes_.send * element_bytes(plan_->output);
  const std::vector<Step> steps = collective_of(plan_->pattern, plan_->ranks, count);
  return state_.transports.sequence->communicate(buffers, {steps, 0, 0}, comm_stream_.get());
}

tilepost_result_t CudaOp::warm_up_groups(void* scratch) {
  const RunMap* plan = maps_.planned()->run.get();
  const std::vector<std::vector<Step>> steps =
      plan != nullptr
          ? plan->steps
          : std::vector<std::vector<Step>>(num_lanes(), even_exchange(plan_->ranks, sizes_.send));
  tilepost_run_operands_t operands{};
  operands.out = scratch;
  Buffers buffers = buffers_of(operands, state_.transports.overlapping != nullptr);
  buffers.a = buffers.gathered;
  if (!buffers.out) buffers.out = scratch;
  const RunRecord nothing{1, true, 1, ~uint32_t{0}, 0, {0}, {0}};
  Run run{};
  run.bank = kEager;
  run.comm = comm_stream_.get();
  run.facts = &nothing;
  std::set<std::tuple<int, StepKind, int64_t>> seen;
  for (size_t g = 0; g < steps.size(); ++g) {
    if (steps[g].empty()) continue;
    const int lane = static_cast<int>(g) % num_lanes();
    const Step& last = steps[g].back();
    const bool is_new = seen.insert({lane, last.kind, last.count}).second;
    if (is_alike_everywhere(last.kind) && !is_new) continue;
    // The first group's counter has reached nothing already, which tries the waiters out.
    if (state_.transports.overlapping && !gathers()) TILEPOST_TRY(wait_for_group(run, 0));
    for (const auto& transport : {&state_.transports.overlapping, &state_.transports.sequence}) {
      const GroupRun group{steps[g], static_cast<int>(g),
                           transport == &state_.transports.sequence ? 0 : lane};
      if (*transport) TILEPOST_TRY((*transport)->communicate(buffers, group, run.comm));
    }
  }
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::warm_up_exchange() {
  auto* numbers = static_cast<int64_t*>(exchanged_.get());
  return state_.transports.exchange(numbers, numbers + 1, 1, comm_stream_.get());
}

tilepost_result_t CudaOp::finish_warm_up() {
  TILEPOST_TRY(finish_in_time(std::string("tilepost_op_create of '") + program_.name +
                              "': the first " + state_.collective + " did not finish"));
  store(state_.page()->progress[kEager], 0);
  return TILEPOST_OK;
}

// Waits for the communication stream within the deadline.
tilepost_result_t CudaOp::finish_in_time(const std::string& what) {
  const tilepost_result_t result =
      wait_for_stream(comm_stream_.get(), options_.deadline_seconds, [this] {
        return state_.comm_aborted->load() ? check_usable() : state_.transports.check_async();
      });
  if (result != TILEPOST_TIMEOUT) return result;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", options_.deadline_seconds);
  state_.abort(TILEPOST_TIMEOUT, "rank " + std::to_string(state_.rank) + ": " + what + " after " +
                                     seconds + " s: a rank did not arrive, or failed in this call");
  return state_.failure.report();
}

// A GEMM that waits for its input would keep NCCL from making what it needs for it, if that waits
// for the device; so the first run with a number of rows gathers once before. The other patterns'
// GEMMs end by themselves.
tilepost_result_t CudaOp::warm_up_map(const Run& run, DeviceMap& map) {
  if (map.warm || !arrives(run) || shared() != nullptr) return TILEPOST_OK;
  for (int g = 0; g < run.plan().num_groups(); ++g)
    TILEPOST_TRY(state_.transports.of(true).communicate(
        run.buffers, {run.plan().steps[g], g, lane_of(run, g)}, run.user));
  map.warm = true;
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
