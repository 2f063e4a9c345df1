// NCCL's entry points, and the runtime's own kernels as the host sees them.
#include <nccl.h>

#include "runtime/cuda/unpermute.h"
#include "runtime/cuda/waiter.h"
#include "tests/runtime/fakes.h"

using namespace fakes;

namespace {

ncclResult_t checked(const std::string& line) {
  return call(line) ? ncclInternalError : ncclSuccess;
}

ncclComm_t make_comm() {
  ++world().live_comms;
  return reinterpret_cast<ncclComm_t>(new int);
}

void free_comm(ncclComm_t comm) {
  delete reinterpret_cast<int*>(comm);
  --world().live_comms;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t) {
  return "ncclFake";
}
const char* ncclGetLastError(ncclComm_t) {
  return "injected";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return checked("ncclGetUniqueId");
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int, ncclUniqueId, int) {
  if (checked("ncclCommInitRank")) return ncclInternalError;
  *comm = make_comm();
  return ncclSuccess;
}
ncclResult_t ncclCommSplit(ncclComm_t, int, int, ncclComm_t* child, ncclConfig_t* config) {
  if (checked("ncclCommSplit")) return ncclInternalError;
  world().max_ctas = config->maxCTAs;
  world().cluster_size = config->cgaClusterSize;
  *child = make_comm();
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  free_comm(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::lock_guard lock(world().mutex);
  free_comm(comm);
  ++world().aborted_comms;
  release_all();
  return ncclSuccess;
}
ncclResult_t ncclCommRevoke(ncclComm_t, int) {
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = static_cast<ncclResult_t>(world().async_error);
  return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t, int* count) {
  *count = world().comm_ranks;
  return checked("ncclCommCount");
}
ncclResult_t ncclCommUserRank(ncclComm_t, int* rank) {
  *rank = world().comm_rank;
  return checked("ncclCommUserRank");
}
ncclResult_t ncclCommCuDevice(ncclComm_t, int* device) {
  *device = world().comm_device;
  return checked("ncclCommCuDevice");
}
ncclResult_t ncclAllReduce(const void*, void*, size_t count, ncclDataType_t, ncclRedOp_t,
                           ncclComm_t, cudaStream_t stream) {
  Stream& s = stream_of(stream);
  if (world().collectives_hang && !s.hang.holds()) s.hang = {true, {}};
  return checked("allreduce " + s.name + " " + std::to_string(count));
}

}  // extern "C"

namespace tilepost::cuda {
namespace {

cudaError_t launched(const std::string& line) {
  return call(line) ? cudaErrorLaunchFailure : cudaSuccess;
}

}  // namespace

cudaError_t preload_wait_kernels() {
  return launched("preload_wait_kernels");
}
cudaError_t preload_unpermute() {
  return launched("preload_unpermute");
}

cudaError_t launch_wait(const WaitArguments& wait, cudaStream_t stream) {
  const std::lock_guard lock(world().mutex);
  Stream& s = stream_of(stream);
  const cudaError_t error = launched("wait " + s.name + " " + std::to_string(wait.target));
  if (error != cudaSuccess || s.hang.holds()) return error;
  if (static_cast<int32_t>(*wait.counter - wait.target) >= 0) {
    *wait.progress = wait.progress_value;
  } else if (world().waits_give_up) {
    *wait.on_timeout = {1, *wait.counter, wait.epoch};
  } else {
    s.hang = {true, [word = &wait.record->abort] { return load(*word) != 0; }};
  }
  return cudaSuccess;
}

cudaError_t launch_replay_begin(Record* record, cudaStream_t stream) {
  record->progress[kCaptured] = 0;
  ++record->replays_begun;
  return launched("replay_begin " + stream_of(stream).name);
}

cudaError_t launch_replay_end(Record* record, cudaStream_t stream) {
  if (!stream_of(stream).hang.holds()) record->replays_ended = record->replays_begun;
  return launched("replay_end " + stream_of(stream).name);
}

cudaError_t launch_unpermute(const UnpermuteArguments& arguments, cudaStream_t stream) {
  return launched("unpermute " + stream_of(stream).name + " " +
                  std::to_string(arguments.first_tile) + "+" + std::to_string(arguments.num_tiles));
}

}  // namespace tilepost::cuda
