// Running collectives once before a run needs them: NCCL makes its connections, buffers and kernels
// on first use, by kind and size, and waits for the device then.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <tuple>

#include "runtime/cuda/op.h"

namespace tilepost::cuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kPoll{100};

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

}  // namespace

tilepost_result_t CudaOp::warm_up() {
  if (plan_->pattern == TILEPOST_GEMM) return finish_warm_up();
  // What stands for the caller's out.
  DeviceMemory scratch;
  const RunMap* plan = maps_.planned()->run.get();
  const int64_t elements = std::max(sizes_.send, plan != nullptr ? plan->sizes.out : 0);
  const auto bytes = static_cast<size_t>(elements) * sizeof(uint16_t);
  if (!gathers() && !(send_ && received_)) {
    TILEPOST_TRY(make_device_memory(scratch, bytes));
    TILEPOST_CUDA(cudaMemsetAsync(scratch.get(), 0, bytes, comm_stream_.get()));
  }
  const tilepost_result_t result = warm_up_with(scratch.get());
  // Freeing it waits for the device, which an unfinished collective may occupy for ever.
  if (result == TILEPOST_TIMEOUT && !CounterAccess::drain(comm_stream_.get())) scratch.leak();
  return result;
}

tilepost_result_t CudaOp::warm_up_with(void* scratch) {
  const RunMap* plan = maps_.planned()->run.get();
  const std::vector<std::vector<Step>> steps =
      plan != nullptr
          ? plan->steps
          : std::vector<std::vector<Step>>(num_lanes(), even_exchange(plan_->ranks, sizes_.send));
  tilepost_run_operands_t operands{};
  operands.out = scratch;
  Buffers buffers = buffers_of(operands);
  buffers.a = buffers.gathered;
  if (!buffers.out) buffers.out = scratch;
  const RunFacts nothing{1, true, 1, ~uint32_t{0}, 0, {0}, {0}};
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
    for (const auto& transport : {&state_.transports.overlapping, &state_.transports.sequence})
      if (*transport)
        TILEPOST_TRY((*transport)
                         ->communicate(buffers, steps[g],
                                       transport == &state_.transports.sequence ? 0 : lane,
                                       run.comm));
  }
  maps_.planned()->warm = true;
  if (is_routed(*plan_)) TILEPOST_TRY(warm_up_exchange());
  return finish_warm_up();
}

tilepost_result_t CudaOp::warm_up_exchange() {
  auto* numbers = static_cast<int64_t*>(exchanged_.get());
  return state_.transports.of(state_.transports.overlapping != nullptr)
      .exchange(numbers, numbers + 1, 1, comm_stream_.get());
}

tilepost_result_t CudaOp::finish_warm_up() {
  TILEPOST_TRY(finish_in_time(std::string("tilepost_op_create of '") + program_.name +
                              "': the first " + state_.collective + " did not finish"));
  store(state_.record()->progress[kEager], 0);
  return TILEPOST_OK;
}

// Waits for the communication stream within the deadline.
tilepost_result_t CudaOp::finish_in_time(const std::string& what) {
  const CaptureModeGuard relaxed;
  const auto begin = Clock::now();
  for (;;) {
    const cudaError_t state = cudaStreamQuery(comm_stream_.get());
    if (state == cudaSuccess) return TILEPOST_OK;
    if (state != cudaErrorNotReady) TILEPOST_CUDA(state);
    cudaGetLastError();
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (options_.deadline_seconds > 0 && elapsed.count() > options_.deadline_seconds) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%g", options_.deadline_seconds);
      state_.abort(TILEPOST_TIMEOUT, "rank " + std::to_string(state_.rank) + ": " + what +
                                         " after " + seconds +
                                         " s: a rank did not arrive, or failed in this call");
      return state_.failure.report();
    }
    if (state_.comm_aborted->load()) return check_usable();
    TILEPOST_TRY(state_.transports.check_async());
    std::this_thread::sleep_for(kPoll);
  }
}

// A GEMM that waits for its input would keep NCCL from making what it needs for it, if that waits
// for the device; so the first run with a number of rows gathers once before. The other patterns'
// GEMMs end by themselves.
tilepost_result_t CudaOp::warm_up_map(const Run& run, DeviceMap& map) {
  if (map.warm || !arrives(run)) return TILEPOST_OK;
  for (int g = 0; g < run.plan().num_groups(); ++g)
    TILEPOST_TRY(state_.transports.of(true).communicate(run.buffers, run.plan().steps[g],
                                                        lane_of(run, g), run.user));
  map.warm = true;
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
