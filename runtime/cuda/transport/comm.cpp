#include "runtime/cuda/transport/comm.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "runtime/cuda/device/at_once.h"
#include "runtime/cuda/device/bounded.h"
#include "runtime/cuda/transport/bootstrap/host_channel.h"
#include "runtime/cuda/transport/nccl_collective.h"

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

tilepost_result_t join_nccl(const tilepost_unique_id_t& id, int rank, int world, ncclComm_t& comm) {
  ncclUniqueId nccl_id;
  std::memcpy(&nccl_id, id.bytes, sizeof nccl_id);
  TILEPOST_NCCL(ncclCommInitRank(&comm, world, nccl_id, rank));
  return TILEPOST_OK;
}

}  // namespace

Communicator::~Communicator() {
  // Nothing was made. A call here that fails would replace the text of the error that says why.
  if (nccl_ == nullptr && children_.empty()) return;
  DeviceGuard guard;
  guard.enter(device_);
  if (is_aborted()) for_all_at_once(children_, [](const auto& child) { child.second->abort(); });
  children_.clear();
  // A thread that is still inside NCCL would find the communicator freed.
  if (!owned_ || nccl_ == nullptr || split_is_open_) return;
  release(nccl_, is_aborted());
}

// The rank's own number and device.
tilepost_result_t Communicator::set_ranks(int rank, int world) {
  if (world < 1) return fail(TILEPOST_INVALID_ARGUMENT, "world must be at least 1, got %d", world);
  if (rank < 0 || rank >= world)
    return fail(TILEPOST_INVALID_ARGUMENT, "rank must be from 0 to %d, got %d", world - 1, rank);
  TILEPOST_CUDA(cudaGetDevice(&device_));
  rank_ = rank;
  world_ = world;
  return TILEPOST_OK;
}

tilepost_result_t Communicator::init(const tilepost_unique_id_t& id, int rank, int world) {
  TILEPOST_TRY(set_ranks(rank, world));
  TILEPOST_TRY(join_nccl(id, rank, world, nccl_));
  owned_ = true;
  return TILEPOST_OK;
}

tilepost_result_t Communicator::init_with(const Bootstrap& bootstrap) {
  const tilepost_result_t own = set_ranks(bootstrap.rank, bootstrap.world);
  // There is no place among the ranks for one whose number is wrong.
  if (own == TILEPOST_INVALID_ARGUMENT) return own;
  Meeting meeting{};
  TILEPOST_TRY(make_meeting(bootstrap, own, meeting));
  on_host_ = std::move(meeting.on_host);
  return on_host_ ? TILEPOST_OK : init(meeting.id, bootstrap.rank, bootstrap.world);
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
  if (!entry) {
    if (nccl_ == nullptr) TILEPOST_TRY(make_parent(seconds));
    TILEPOST_TRY(split(max_ctas, seconds, entry));
  }
  child = entry;
  return TILEPOST_OK;
}

// NCCL's control channel has one CTA, which finds a place beside any GEMM.
tilepost_result_t Communicator::control(double seconds, std::shared_ptr<ControlChannel>& control) {
  if (on_host_) {
    control = std::make_shared<HostChannel>(on_host_, aborted_);
    return TILEPOST_OK;
  }
  constexpr int kCtas = 1, kNoLane = -1;
  std::vector<std::shared_ptr<ChildComm>> lanes(1);
  TILEPOST_TRY(child(kCtas, kNoLane, seconds, lanes.front()));
  control = std::make_shared<NcclChannel>(std::move(lanes));
  return TILEPOST_OK;
}

// NCCL waits for all ranks while it makes a communicator, and does not bound that wait. So
// `make`(Comm&) does it on a thread that may go on for ever. It owns what it works with.
template <class Comm, class Make>
tilepost_result_t Communicator::make_in_time(double seconds, Comm& comm, Make make) {
  struct Made {
    Comm comm{};
    tilepost_result_t result = TILEPOST_OK;
    std::string text;
  };
  auto made = std::make_shared<Made>();
  const double patience = std::max(seconds, kSplitSeconds);
  const auto make_there = [made, make, device = device_] {
    DeviceGuard guard;
    made->result = guard.enter(device);
    if (made->result == TILEPOST_OK) made->result = make(made->comm);
    if (made->result != TILEPOST_OK) made->text = tilepost_last_error();
  };
  if (seconds == 0) {
    make_there();
  } else if (!returns_within(std::chrono::duration<double>(patience), make_there)) {
    split_is_open_ = true;
    aborted_->store(true);
    return fail(TILEPOST_TIMEOUT,
                "rank %d: tilepost_op_create: NCCL did not make a communicator within %g s: a rank "
                "did not arrive, or failed in this call",
                rank_, patience);
  }
  if (made->result != TILEPOST_OK) return fail(made->result, "%s", made->text.c_str());
  comm = std::move(made->comm);
  return TILEPOST_OK;
}

tilepost_result_t Communicator::split(int max_ctas, double seconds,
                                      std::shared_ptr<ChildComm>& child) {
  return make_in_time(seconds, child,
                      [parent = nccl_, aborted = aborted_, rank = rank_,
                       max_ctas](std::shared_ptr<ChildComm>& made) {
                        made = std::make_shared<ChildComm>(aborted);
                        return made->split_from(parent, rank, max_ctas);
                      });
}

// Makes the communicator of ranks that have got along without NCCL so far. All ranks need one at
// the same time, since they make the same operation.
tilepost_result_t Communicator::make_parent(double seconds) {
  tilepost_unique_id_t id{};
  TILEPOST_TRY(share_id(seconds, id));
  TILEPOST_TRY(make_in_time(seconds, nccl_, [id, rank = rank_, world = world_](ncclComm_t& made) {
    return join_nccl(id, rank, world, made);
  }));
  owned_ = true;
  return TILEPOST_OK;
}

// Rank 0 makes the id.
tilepost_result_t Communicator::share_id(double seconds, tilepost_unique_id_t& id) {
  constexpr size_t kNumbers = sizeof id / sizeof(int64_t);
  static_assert(sizeof id % sizeof(int64_t) == 0);
  std::array<int64_t, 1 + kNumbers> own{};
  if (rank_ == 0) own[0] = make_unique_id(id);
  const std::string text = own[0] != TILEPOST_OK ? tilepost_last_error() : "";
  std::memcpy(&own[1], &id, sizeof id);
  std::vector<int64_t> all;
  const tilepost_result_t result = on_host_->exchange(own, all, seconds);
  if (result != TILEPOST_OK) HostChannel(on_host_, aborted_).abort();
  TILEPOST_TRY(explain_absence(result, rank_, "part in NCCL's id", seconds));
  if (!text.empty()) return fail(static_cast<tilepost_result_t>(own[0]), "%s", text.c_str());
  if (all[0] != TILEPOST_OK)
    return fail(static_cast<tilepost_result_t>(all[0]),
                "rank 0 got no id from NCCL; its own error says why");
  std::memcpy(&id, &all[1], sizeof id);
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
