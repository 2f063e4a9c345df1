#include "runtime/cuda/transport/comm.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "runtime/cuda/device/at_once.h"
#include "runtime/cuda/device/bounded.h"

// NCCL has this function from 2.28.7 on. The header that this file is compiled with does not tell
// which NCCL the program will be linked with, so the function is a weak symbol: it is null where
// NCCL lacks it.
extern "C" [[gnu::weak]] ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);

namespace tilepost::cuda {
namespace {

using namespace std::chrono_literals;

constexpr int kRevokeFlags = 0;  // NCCL_REVOKE_DEFAULT, the only value there is

// How long abort() waits: for the thread that issues collectives to leave NCCL by itself, then for
// it to leave after revoking, and then for ncclCommAbort. Together these are 4 s.
constexpr auto kLockPatience = 500ms;
constexpr auto kRevokedPatience = 1500ms;
constexpr auto kAbortPatience = 2s;
// How long NCCL may take to release a communicator whose ranks are well, and how long to make one.
constexpr auto kDestroyPatience = 10s;
constexpr double kSplitSeconds = 30;
constexpr auto kReadyPoll = 200us;

// Waits for a call on a communicator in non-blocking mode, where calls that take time return 'in
// progress'.
ncclResult_t wait_ready(ncclComm_t comm, ncclResult_t result) {
  while (result == ncclInProgress) {
    std::this_thread::sleep_for(kReadyPoll);
    if (const ncclResult_t error = ncclCommGetAsyncError(comm, &result); error != ncclSuccess)
      return error;
  }
  return result;
}

// ncclCommDestroy waits for the device, but after an abort some work on the device may never end.
void release(ncclComm_t comm, bool aborted) {
  if (is_unloaded()) return;
  if (aborted)
    returns_within(kAbortPatience, [comm] { ncclCommAbort(comm); });
  else
    returns_within(kDestroyPatience, [comm] { ncclCommDestroy(comm); });
}

}  // namespace

static_assert(sizeof(tilepost_unique_id_t) >= sizeof(ncclUniqueId));

Communicator::~Communicator() {
  DeviceGuard guard;
  guard.enter(device_);
  if (is_aborted()) for_all_at_once(children_, [](const auto& child) { child.second->abort(); });
  children_.clear();
  // A thread that is still inside NCCL would find the communicator freed.
  if (!owned_ || nccl_ == nullptr || split_is_open_) return;
  release(nccl_, is_aborted());
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

tilepost_result_t Communicator::child(int max_ctas, int lane, double seconds,
                                      std::shared_ptr<ChildComm>& child) {
  std::shared_ptr<ChildComm>& entry = children_[{max_ctas, lane}];
  if (!entry) TILEPOST_TRY(split(max_ctas, seconds, entry));
  child = entry;
  return TILEPOST_OK;
}

// The control channel has one CTA, which finds a place beside any GEMM.
tilepost_result_t Communicator::control(double seconds, std::shared_ptr<ChildComm>& control) {
  constexpr int kCtas = 1, kNoLane = -1;
  return child(kCtas, kNoLane, seconds, control);
}

// NCCL waits for all ranks while it splits a communicator, and does not bound that wait.
tilepost_result_t Communicator::split(int max_ctas, double seconds,
                                      std::shared_ptr<ChildComm>& child) {
  struct Made {
    std::shared_ptr<ChildComm> child;
    tilepost_result_t result = TILEPOST_OK;
    std::string text;
  };
  auto made = std::make_shared<Made>();
  made->child = std::make_shared<ChildComm>(aborted_);
  const double patience = std::max(seconds, kSplitSeconds);
  const auto split_off = [made, parent = nccl_, device = device_, rank = rank_, max_ctas] {
    DeviceGuard guard;
    made->result = guard.enter(device);
    if (made->result == TILEPOST_OK) made->result = made->child->split_from(parent, rank, max_ctas);
    if (made->result != TILEPOST_OK) made->text = tilepost_last_error();
  };
  if (seconds == 0) {
    split_off();
  } else if (!returns_within(std::chrono::duration<double>(patience), split_off)) {
    split_is_open_ = true;
    aborted_->store(true);
    return fail(TILEPOST_TIMEOUT,
                "rank %d: tilepost_op_create: NCCL did not make a communicator within %g s: a rank "
                "did not arrive, or failed in this call",
                rank_, patience);
  }
  if (made->result != TILEPOST_OK) return fail(made->result, "%s", made->text.c_str());
  child = std::move(made->child);
  return TILEPOST_OK;
}

// ---- Child communicators

ChildComm::~ChildComm() {
  if (comm_ != nullptr) release(comm_, aborted_->load());
}

tilepost_result_t ChildComm::split_from(ncclComm_t parent, int rank, int max_ctas) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  if (max_ctas > 0) {
    // NCCL's default clusters of 4 CTAs need 4 free SMs side by side. They find none while a
    // persistent GEMM runs, so NCCL would start only when the GEMM ends.
    config.cgaClusterSize = 1;
    config.minCTAs = 1;
    config.maxCTAs = max_ctas;
  }
  TILEPOST_NCCL(wait_ready(parent, ncclCommSplit(parent, 0, rank, &comm_, &config)));
  return TILEPOST_OK;
}

tilepost_result_t ChildComm::check_usable() const {
  if (!aborted_->load() && comm_ != nullptr) return TILEPOST_OK;
  return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one");
}

tilepost_result_t ChildComm::check_async() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || comm_ == nullptr) return TILEPOST_OK;
  ncclResult_t state = ncclSuccess;
  TILEPOST_NCCL(ncclCommGetAsyncError(comm_, &state));
  if (state == ncclInProgress) return TILEPOST_OK;
  TILEPOST_NCCL(state);
  return TILEPOST_OK;
}

// The issuing thread can be stuck inside NCCL: when the device has stopped, CUDA's launch queue
// fills up and a launch blocks. Revoking ends the collectives on the device without freeing the
// communicator under that thread, which then returns.
bool ChildComm::lock_or_revoke(std::unique_lock<std::timed_mutex>& lock) {
  if (lock.try_lock_for(kLockPatience)) return true;
  if (ncclCommRevoke != nullptr) ncclCommRevoke(comm_, kRevokeFlags);
  return lock.try_lock_for(kRevokedPatience);
}

void ChildComm::abort() {
  aborted_->store(true);
  if (abort_begun_.exchange(true)) return;
  std::unique_lock lock(mutex_, std::defer_lock);
  // Freeing the communicator under a thread that is still inside would crash. So it is leaked.
  if (!lock_or_revoke(lock) || comm_ == nullptr) return;
  release(comm_, true);
  comm_ = nullptr;
}

}  // namespace tilepost::cuda
