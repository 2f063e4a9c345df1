#include "runtime/cuda/transport/shared_transport.h"

namespace tilepost::cuda {
namespace {

// Whether a step needs data that its peer has announced.
bool needs_peer(StepKind kind) {
  return kind == StepKind::pull_part || kind == StepKind::pull || kind == StepKind::pull_sums ||
         kind == StepKind::landed_rows;
}

}  // namespace

tilepost_result_t SharedTransport::warm_up(cudaStream_t stream) {
  reset_lanes();
  TILEPOST_TRY(shared_.begin_warm_up(stream));
  TILEPOST_TRY(warm_up_lanes(stream));
  return shared_.end_warm_up(stream);
}

tilepost_result_t SharedTransport::begin(const RunBeginning& beginning, cudaStream_t stream) {
  reset_lanes();
  return shared_.begin(beginning, stream);
}

tilepost_result_t SharedTransport::check_usable() const {
  if (!shared_.is_aborted()) return TILEPOST_OK;
  return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one");
}

tilepost_result_t KernelTransport::communicate(const Buffers& /*buffers*/, const GroupRun& run,
                                               cudaStream_t /*stream*/) {
  return fail(TILEPOST_INTERNAL_ERROR, "group %d is for the kernel's tasks alone", run.group);
}

tilepost_result_t make_shared_service(const TransportSetup& setup, Transports& transports,
                                      std::unique_ptr<SharedService>& shared) {
  if (paths_of(setup.plan).has(false)) TILEPOST_TRY(make_none(setup, transports));
  auto made = std::make_unique<SharedService>(setup.plan, setup.comm.operations());
  Communicator& comm = setup.comm;
  TILEPOST_TRY(made->create({comm.rank(), comm.world(), comm.device(), *transports.channels.front(),
                             setup.deadline_seconds},
                            setup.arenas, setup.share_memory, setup.family));
  shared = std::move(made);
  return TILEPOST_OK;
}

tilepost_result_t follow(cudaStream_t stream, const Event& event, cudaStream_t leader) {
  TILEPOST_CUDA(cudaEventRecord(event.get(), leader));
  TILEPOST_CUDA(cudaStreamWaitEvent(stream, event.get(), 0));
  return TILEPOST_OK;
}

tilepost_result_t copy(void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  if (to == from) return TILEPOST_OK;
  TILEPOST_CUDA(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
  return TILEPOST_OK;
}

uint64_t others_of(const SharedFlags& flags) {
  return (~uint64_t{0} >> (64 - flags.ranks)) & ~bit_of(flags.rank);
}

uint64_t needed_by(std::span<const Step> steps) {
  uint64_t sources = 0;
  for (const Step& step : steps) {
    if (!needs_peer(step.kind)) break;
    sources |= bit_of(step.peer);
  }
  return sources;
}

tilepost_result_t refuse_step(StepKind kind) {
  return fail(TILEPOST_INTERNAL_ERROR, "step %d is a message, or only a kernel's tasks take it",
              static_cast<int>(kind));
}

}  // namespace tilepost::cuda
