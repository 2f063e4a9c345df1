#include "runtime/cuda/transport/nccl_collective.h"

#include <algorithm>

#include "runtime/cuda/device/at_once.h"
#include "runtime/cuda/device/dtypes.h"
#include "runtime/map/moved_scales.h"

namespace tilepost::cuda {
namespace {

void* at(void* base, int64_t element, tilepost_dtype_t type) {
  return static_cast<char*>(base) + element * element_bytes(type);
}

// The scales that begin with element `element` of A.
float* scales_at(const float* scales, const MovedScales& moved, int64_t element) {
  return const_cast<float*>(scales) + moved.of(element);
}

// Whether this rank's share is short. A full share is received, and its rest belongs to no rank.
bool needs_scratch(const Buffers& buffers, const Step& step) {
  return buffers.scratch != nullptr && step.kind == StepKind::reduce_scatter &&
         step.keep < step.count;
}

// Whether the steps bring the own rows and then the rows of all ranks to the same place. One NCCL
// call can do both, because NCCL copies the own rows too.
bool gathers_at_once(std::span<const Step> steps) {
  return steps.size() == 2 && steps[0].kind == StepKind::own_rows &&
         steps[1].kind == StepKind::all_gather;
}

}  // namespace

ncclDataType_t nccl_type(tilepost_dtype_t type) {
  return library_types(type).nccl;
}

tilepost_result_t make_channel(const TransportSetup& setup, std::shared_ptr<NcclChannel>& channel) {
  const int num_lanes = std::max(1, setup.plan.comm_lanes);
  std::vector<std::shared_ptr<ChildComm>> lanes(num_lanes);
  for (int lane = 0; lane < num_lanes; ++lane)
    TILEPOST_TRY(setup.comm.child(setup.plan.comm_ctas / num_lanes, lane, setup.deadline_seconds,
                                  lanes[lane]));
  channel = std::make_shared<NcclChannel>(std::move(lanes));
  return TILEPOST_OK;
}

tilepost_result_t NcclChannel::exchange(const int64_t* from, int64_t* to, size_t count,
                                        cudaStream_t stream) {
  return lanes_[0]->issue(false, [&](ncclComm_t comm) {
    TILEPOST_NCCL(ncclAllGather(from, to, count, ncclInt64, comm, stream));
    return TILEPOST_OK;
  });
}

tilepost_result_t NcclChannel::check_async() {
  for (const auto& comm : lanes_) TILEPOST_TRY(comm->check_async());
  return TILEPOST_OK;
}

void NcclChannel::abort() {
  for_all_at_once(lanes_, [](const auto& comm) { comm->abort(); });
}

tilepost_result_t NcclCollective::communicate(const Buffers& buffers, const GroupRun& run,
                                              cudaStream_t stream) {
  const std::span<const Step> steps = run.steps;
  const bool alone = !moved_scales(plan_).exist();  // whether a step is one call
  if (gathers_at_once(steps)) return gather_at_once(buffers, steps[1], run.lane, stream);
  std::ptrdiff_t calls = 0;
  for (const Step& step : steps) {
    if (step.kind == StepKind::own_rows)
      TILEPOST_TRY(copy_own_rows(buffers, step, stream));
    else
      ++calls;
  }
  if (calls == 0) return TILEPOST_OK;
  const auto issue_all = [&](ncclComm_t comm) {
    for (const Step& step : steps) TILEPOST_TRY(issue(buffers, step, comm, stream));
    return TILEPOST_OK;
  };
  TILEPOST_TRY(channel_->lanes()[run.lane]->issue(calls > 1 || !alone, issue_all));
  for (const Step& step : steps)
    if (needs_scratch(buffers, step)) TILEPOST_TRY(copy_landed(buffers, step, stream));
  return TILEPOST_OK;
}

tilepost_result_t NcclCollective::gather_at_once(const Buffers& buffers, const Step& step, int lane,
                                                 cudaStream_t stream) {
  const auto count = static_cast<size_t>(step.count);
  const MovedScales moved = moved_scales(plan_);
  return channel_->lanes()[lane]->issue(moved.exist(), [&](ncclComm_t comm) {
    TILEPOST_NCCL(ncclAllGather(buffers.a, at(buffers.gathered, step.to, plan_.input), count,
                                nccl_type(plan_.input), comm, stream));
    if (moved.exist())
      TILEPOST_NCCL(
          ncclAllGather(buffers.scales, scales_at(buffers.gathered_scales, moved, step.to),
                        static_cast<size_t>(moved.of(step.count)), ncclFloat32, comm, stream));
    return TILEPOST_OK;
  });
}

tilepost_result_t NcclCollective::copy_own_rows(const Buffers& buffers, const Step& step,
                                                cudaStream_t stream) const {
  const void* from = at(const_cast<void*>(buffers.a), step.from, plan_.input);
  void* to = at(buffers.gathered, step.to, plan_.input);
  if (from != to)
    TILEPOST_CUDA(cudaMemcpyAsync(to, from, step.count * element_bytes(plan_.input),
                                  cudaMemcpyDeviceToDevice, stream));
  if (const MovedScales moved = moved_scales(plan_); moved.exist())
    TILEPOST_CUDA(cudaMemcpyAsync(scales_at(buffers.gathered_scales, moved, step.to),
                                  scales_at(buffers.scales, moved, step.from),
                                  static_cast<size_t>(moved.bytes_of(step.count)),
                                  cudaMemcpyDeviceToDevice, stream));
  return TILEPOST_OK;
}

tilepost_result_t NcclCollective::copy_landed(const Buffers& buffers, const Step& step,
                                              cudaStream_t stream) const {
  if (step.keep == 0) return TILEPOST_OK;
  TILEPOST_CUDA(cudaMemcpyAsync(at(buffers.out, step.to, plan_.output), buffers.scratch,
                                step.keep * element_bytes(plan_.output), cudaMemcpyDeviceToDevice,
                                stream));
  return TILEPOST_OK;
}

// The scales that move with the rows of the step, if any do. They are messages of their own in the
// group of the rows' messages, so that both have come when either has.
tilepost_result_t NcclCollective::issue_scales(const Buffers& buffers, const Step& step,
                                               ncclComm_t comm, cudaStream_t stream) const {
  const MovedScales moved = moved_scales(plan_);
  if (!moved.exist()) return TILEPOST_OK;
  const auto count = static_cast<size_t>(moved.of(step.count));
  float* const gathered = buffers.gathered_scales;
  switch (step.kind) {
    case StepKind::all_gather:
      TILEPOST_NCCL(ncclAllGather(scales_at(gathered, moved, step.from),
                                  scales_at(gathered, moved, step.to), count, ncclFloat32, comm,
                                  stream));
      break;
    case StepKind::send_own_rows:
      TILEPOST_NCCL(ncclSend(scales_at(buffers.scales, moved, step.from), count, ncclFloat32,
                             step.peer, comm, stream));
      break;
    case StepKind::send_rows:
      TILEPOST_NCCL(ncclSend(scales_at(gathered, moved, step.from), count, ncclFloat32, step.peer,
                             comm, stream));
      break;
    case StepKind::receive_rows:
      TILEPOST_NCCL(ncclRecv(scales_at(gathered, moved, step.to), count, ncclFloat32, step.peer,
                             comm, stream));
      break;
    default:
      break;
  }
  return TILEPOST_OK;
}

tilepost_result_t NcclCollective::issue(const Buffers& buffers, const Step& step, ncclComm_t comm,
                                        cudaStream_t stream) const {
  const tilepost_dtype_t type = plan_.output, input = plan_.input;
  const auto count = static_cast<size_t>(step.count);
  TILEPOST_TRY(issue_scales(buffers, step, comm, stream));
  switch (step.kind) {
    case StepKind::own_rows:
      break;
    case StepKind::all_reduce:
      TILEPOST_NCCL(ncclAllReduce(at(buffers.send, step.from, type),
                                  at(buffers.reduced, step.to, type), count, nccl_type(type),
                                  ncclSum, comm, stream));
      break;
    case StepKind::reduce_scatter: {
      void* to = needs_scratch(buffers, step) ? buffers.scratch : at(buffers.out, step.to, type);
      TILEPOST_NCCL(ncclReduceScatter(at(buffers.send, step.from, type), to, count, nccl_type(type),
                                      ncclSum, comm, stream));
      break;
    }
    case StepKind::send:
      TILEPOST_NCCL(ncclSend(at(buffers.send, step.from, type), count, nccl_type(type), step.peer,
                             comm, stream));
      break;
    case StepKind::receive:
      TILEPOST_NCCL(ncclRecv(at(buffers.out, step.to, type), count, nccl_type(type), step.peer,
                             comm, stream));
      break;
    case StepKind::all_gather:
      TILEPOST_NCCL(ncclAllGather(at(buffers.gathered, step.from, input),
                                  at(buffers.gathered, step.to, input), count, nccl_type(input),
                                  comm, stream));
      break;
    case StepKind::send_own_rows:
      TILEPOST_NCCL(ncclSend(at(const_cast<void*>(buffers.a), step.from, input), count,
                             nccl_type(input), step.peer, comm, stream));
      break;
    case StepKind::send_rows:
      TILEPOST_NCCL(ncclSend(at(buffers.gathered, step.from, input), count, nccl_type(input),
                             step.peer, comm, stream));
      break;
    case StepKind::receive_rows:
      TILEPOST_NCCL(ncclRecv(at(buffers.gathered, step.to, input), count, nccl_type(input),
                             step.peer, comm, stream));
      break;
    case StepKind::announce:
    case StepKind::pull_part:
    case StepKind::pull:
    case StepKind::sum:
    case StepKind::announce_sums:
    case StepKind::pull_sums:
    case StepKind::push_sums:
    case StepKind::landed_sums:
    case StepKind::push_rows:
    case StepKind::landed_rows:
    case StepKind::own_part:
    case StepKind::landed_part:
      return fail(TILEPOST_INTERNAL_ERROR, "step %d is not a message", static_cast<int>(step.kind));
  }
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
