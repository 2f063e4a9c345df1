#include "runtime/cuda/transport/comm.h"

#include <cstring>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

static_assert(sizeof(tilepost_unique_id_t) >= sizeof(ncclUniqueId));

Communicator::~Communicator() {
  DeviceGuard guard;
  guard.enter(device_);
  children_.clear();
  if (!owned_ || nccl_ == nullptr) return;
  // As in ~ChildComm: nothing here may wait for work that an abort has left unfinished.
  if (is_aborted())
    ncclCommAbort(nccl_);
  else
    ncclCommDestroy(nccl_);
}

tilepost_result_t Communicator::init(const tilepost_unique_id_t& id, int rank, int world) {
  if (world < 1) return fail(TILEPOST_INVALID_ARGUMENT, "world must be at least 1, got %d", world);
  if (rank < 0 || rank >= world)
    return fail(TILEPOST_INVALID_ARGUMENT, "rank must be from 0 to %d, got %d", world - 1, rank);
  TILEPOST_CUDA(cudaGetDevice(&device_));
  rank_ = rank;
  world_ = world;
  ncclUniqueId nccl_id;
  std::memcpy(&nccl_id, id.bytes, sizeof nccl_id);
  TILEPOST_NCCL(ncclCommInitRank(&nccl_, world, nccl_id, rank));
  owned_ = true;
  return TILEPOST_OK;
}

tilepost_result_t Communicator::adopt(ncclComm_t nccl) {
  int comm_device = -1;
  TILEPOST_CUDA(cudaGetDevice(&device_));
  TILEPOST_NCCL(ncclCommCuDevice(nccl, &comm_device));
  if (comm_device != device_)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "the communicator belongs to device %d, the current device is %d; call "
                "cudaSetDevice(%d) first",
                comm_device, device_, comm_device);
  TILEPOST_NCCL(ncclCommUserRank(nccl, &rank_));
  TILEPOST_NCCL(ncclCommCount(nccl, &world_));
  nccl_ = nccl;
  return TILEPOST_OK;
}

tilepost_result_t Communicator::child(int max_ctas, int lane, std::shared_ptr<ChildComm>& child) {
  std::shared_ptr<ChildComm>& entry = children_[{max_ctas, lane}];
  if (!entry) {
    auto fresh = std::make_shared<ChildComm>(aborted_);
    TILEPOST_TRY(fresh->split_from(nccl_, rank_, max_ctas));
    entry = std::move(fresh);
  }
  child = entry;
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
