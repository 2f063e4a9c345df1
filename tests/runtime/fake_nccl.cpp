// The entry points of NCCL, and the launches of the runtime's own kernels.
#include <nccl.h>

#include <chrono>

#include "runtime/cuda/consumers/hand_out.h"
#include "runtime/cuda/consumers/norm.h"
#include "runtime/cuda/consumers/pack.h"
#include "runtime/cuda/consumers/quantise.h"
#include "runtime/cuda/consumers/unpermute.h"
#include "runtime/cuda/transport/agreement.h"
#include "runtime/cuda/watch/stamp.h"
#include "runtime/cuda/watch/waiter.h"
#include "tests/runtime/fake_ranks.h"
#include "tests/runtime/fakes.h"

using namespace fakes;

namespace {

ncclResult_t checked(const std::string& line) {
  return call(line) ? ncclInternalError : ncclSuccess;
}

thread_local int open_groups = 0;

// A call that does not return while the test wants it to hang. It is counted until it returns.
class Hanging {
 public:
  explicit Hanging(const char* name) : name_(name), counts_(is_on()) {
    if (counts_) ++world().hanging_calls;
    while (is_on()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  ~Hanging() {
    if (counts_) --world().hanging_calls;
  }
  Hanging(const Hanging&) = delete;
  Hanging& operator=(const Hanging&) = delete;

 private:
  bool is_on() const {
    const std::lock_guard lock(world().mutex);
    return world().nccl_hangs == name_;
  }

  const std::string name_;
  const bool counts_;
};

// A call that moves data. Its stream hangs where `collectives_hang` is set.
ncclResult_t move(const char* name, const void* from, void* to, size_t count, ncclDataType_t type,
                  int peer, ncclComm_t comm, cudaStream_t stream) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  fakes::Stream& s = stream_of(stream);
  if (w.collectives_hang && !s.hang.holds()) s.hang = {true, {}};
  w.nccl.push_back(
      {name, from, to, count, type, peer, open_groups > 0 ? w.groups_begun : 0, comm, s.name});
  return checked(std::string(name) + " " + s.name + " " + std::to_string(count) +
                 (peer >= 0 ? " peer " + std::to_string(peer) : ""));
}

ncclComm_t make_comm() {
  ++world().live_comms;
  return reinterpret_cast<ncclComm_t>(new int);
}

// Frees a communicator, and ends its windows.
void free_comm(ncclComm_t comm) {
  for (const auto& window : world().windows)
    if (window->comm == comm && window->live) {
      window->live = false;
      --world().live_windows;
    }
  delete reinterpret_cast<int*>(comm);
  --world().live_comms;
}

}  // namespace

void fakes::say_as(int rank, const int64_t* own, int64_t* to, size_t count) {
  std::copy_n(own, count, to);
  const std::string bus = "0000:0" + std::to_string(rank + 1) + ":00.0";
  if (count == tilepost::cuda::kStandingNumbers) {
    auto& standing = *reinterpret_cast<tilepost::cuda::Standing*>(to);
    bus.copy(standing.place.bus, sizeof standing.place.bus);
  } else if (count == fakes::kRoutingNumbers) {
    auto& place =
        *reinterpret_cast<tilepost::cuda::PeerInfo*>(to + count - tilepost::cuda::kPeerInfoNumbers);
    bus.copy(place.bus, sizeof place.bus);
  }
}

extern "C" {

const char* ncclGetErrorString(ncclResult_t) {
  return "ncclFake";
}
const char* ncclGetLastError(ncclComm_t) {
  return "injected";
}
ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return checked("ncclGetVersion");
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
  const Hanging hanging("ncclCommSplit");
  if (checked("ncclCommSplit")) return ncclInternalError;
  const std::lock_guard lock(world().mutex);
  world().max_ctas = config->maxCTAs;
  world().cluster_size = config->cgaClusterSize;
  *child = make_comm();
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const Hanging hanging("ncclCommDestroy");
  const std::lock_guard lock(world().mutex);
  free_comm(comm);
  return ncclSuccess;
}
// On a device memory is given back only when no collective of another communicator hangs any more.
// So an abort waits for the others to begin.
void wait_for_other_aborts() {
  constexpr std::chrono::seconds kPatience{2};
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::unique_lock lock(world().mutex);
  ++world().aborts_begun;
  while (world().aborts_begun < world().aborts_meet) {
    if (std::chrono::steady_clock::now() > end) {
      ++world().aborts_alone;
      return;
    }
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
  }
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  wait_for_other_aborts();
  const Hanging hanging("ncclCommAbort");
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
ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  if (checked("ncclMemAlloc")) return ncclUnhandledCudaError;
  return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclMemFree(void* pointer) {
  call("ncclMemFree");
  cudaFree(pointer);
  return ncclSuccess;
}
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* memory, size_t bytes,
                                    ncclWindow_t* window, int flags) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  if (checked("ncclCommWindowRegister") || flags != NCCL_WIN_COLL_SYMMETRIC)
    return ncclInternalError;
  const auto number = static_cast<int>(w.windows.size());
  const int answer = w.window_answer ? w.window_answer(number) : 0;
  const bool gives = w.gives_windows && answer == ncclSuccess;
  w.windows.push_back(
      std::make_unique<Window>(Window{comm, static_cast<char*>(memory), bytes, gives}));
  if (gives) {
    *window = reinterpret_cast<ncclWindow_t>(w.windows.back().get());
    ++w.live_windows;
  }
  return static_cast<ncclResult_t>(answer);
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t handle) {
  const std::lock_guard lock(world().mutex);
  auto* window = reinterpret_cast<Window*>(handle);
  const bool matches = window->live && window->comm == comm;
  window->live = false;
  if (matches) --world().live_windows;
  call("ncclCommWindowDeregister");
  return matches ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclGroupStart() {
  if (checked("group_start")) return ncclInternalError;
  ++open_groups;
  ++world().groups_begun;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  --open_groups;
  ++world().groups_ended;
  return checked("group_end");
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  return move("allreduce", from, to, count, type, -1, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  return move("reducescatter", from, to, count, type, -1, comm, stream);
}
// Numbers are exchanged at once. Rows are only logged.
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  if (type == ncclInt64) {
    const auto* own = static_cast<const int64_t*>(from);
    auto* all = static_cast<int64_t*>(to);
    if (world().exchange)
      world().exchange(own, all, count);
    else
      for (int rank = 0; rank < world().comm_ranks; ++rank)
        say_as(rank, own, all + rank * count, count);
  }
  return move("allgather", from, to, count, type, -1, comm, stream);
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return move("send", from, nullptr, count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return move("recv", nullptr, to, count, type, peer, comm, stream);
}

}  // extern "C"

uint64_t fakes::tick() {
  const std::lock_guard lock(world().mutex);
  return world().time += 1000;
}

void fakes::return_all() {
  {
    const std::lock_guard lock(world().mutex);
    world().nccl_hangs.clear();
  }
  while (world().hanging_calls > 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

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
cudaError_t preload_pack() {
  return launched("preload_pack");
}
cudaError_t preload_hand_out() {
  return launched("preload_hand_out");
}
cudaError_t preload_norm(tilepost_dtype_t) {
  return launched("preload_norm");
}
cudaError_t preload_quantise(tilepost_dtype_t) {
  return launched("preload_quantise");
}

cudaError_t launch_wait(const WaitArguments& wait, cudaStream_t stream) {
  const std::lock_guard lock(world().mutex);
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("wait " + s.name + " " + std::to_string(wait.target));
  if (error != cudaSuccess || s.hang.holds()) return error;
  if (static_cast<int32_t>(*wait.counter - wait.target) >= 0) {
    *wait.progress = wait.progress_value;
  } else if (world().waits_give_up) {
    *wait.on_timeout = wait.report;
    wait.on_timeout->counter = *wait.counter;
    wait.on_timeout->timed_out = 1;
  } else {
    s.hang = {true, [word = &wait.page->abort] { return load(*word) != 0; }};
  }
  return cudaSuccess;
}

cudaError_t preload_stamp() {
  return launched("preload_stamp");
}

// A stream behind something that hangs does not come to its stamp.
cudaError_t launch_stamp(uint64_t* word, cudaStream_t stream) {
  const std::lock_guard lock(world().mutex);
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("stamp " + s.name);
  if (error == cudaSuccess && !s.hang.holds()) *word = fakes::tick();
  return error;
}

cudaError_t launch_post(const PostArguments& post, cudaStream_t stream) {
  const std::lock_guard lock(world().mutex);
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("post " + s.name + " " + std::to_string(post.value));
  if (error == cudaSuccess && !s.hang.holds()) ranks::post(post);
  return error;
}

cudaError_t launch_replay_begin(WatchPage* page, const ReplayBeginning& replay,
                                cudaStream_t stream) {
  ranks::begin_replay(page, replay);
  const std::string zeroed =
      replay.groups > 0 ? " " + std::to_string(replay.groups) + " groups" : "";
  return launched("replay_begin " + stream_of(stream).name + zeroed);
}

cudaError_t launch_replay_end(WatchPage* page, cudaStream_t stream) {
  if (!stream_of(stream).hang.holds()) page->replays_ended = page->replays_begun;
  return launched("replay_end " + stream_of(stream).name);
}

cudaError_t launch_unpermute(const UnpermuteArguments& arguments, cudaStream_t stream) {
  return launched("unpermute " + stream_of(stream).name + " " +
                  std::to_string(arguments.first_tile) + "+" + std::to_string(arguments.num_tiles));
}

cudaError_t launch_unpermute_slabs(const SlabArguments& arguments, cudaStream_t stream) {
  std::string rows;
  for (int s = 0; s <= arguments.sources; ++s) rows += " " + std::to_string(arguments.first_row[s]);
  return launched("unpermute_slabs " + stream_of(stream).name + " columns " +
                  std::to_string(arguments.first) + ".." + std::to_string(arguments.end) +
                  " height " + std::to_string(arguments.height) + " rows" + rows);
}

// Copies rows only where ranks are threads. Elsewhere no memory lies at the pointers.
cudaError_t launch_pack(const PackArguments& arguments, cudaStream_t stream) {
  const auto* from = static_cast<const char*>(arguments.rows);
  auto* to = static_cast<char*>(arguments.packed);
  const auto bytes = static_cast<size_t>(arguments.row_bytes);
  for (int64_t row = 0; world().threads && row < arguments.count; ++row)
    std::memcpy(to + row * arguments.row_bytes, from + arguments.order[row] * arguments.row_bytes,
                bytes);
  return launched("pack " + stream_of(stream).name + " " + std::to_string(arguments.count));
}

cudaError_t launch_hand_out(const HandOutArguments& arguments, cudaStream_t stream) {
  const int64_t first = arguments.first, end = arguments.end;
  if (world().threads)
    std::memcpy(
        static_cast<char*>(arguments.to) + first,
        static_cast<const char*>(arguments.places) + (*arguments.run & 1) * arguments.apart + first,
        static_cast<size_t>(end - first));
  return launched("hand_out " + stream_of(stream).name + " " + std::to_string(end - first));
}

cudaError_t launch_norm(const NormArguments& arguments, tilepost_dtype_t, int,
                        cudaStream_t stream) {
  if (world().on_norm) world().on_norm(arguments.x, arguments.rows, arguments.n);
  const auto is = [](const void* pointer) { return pointer != nullptr ? "yes" : "no"; };
  return launched("norm " + stream_of(stream).name + " " + std::to_string(arguments.rows) + "x" +
                  std::to_string(arguments.n) + " tile_n " + std::to_string(arguments.tile_n) +
                  " slots " + is(arguments.slot_rows) + " residual " + is(arguments.residual));
}

cudaError_t launch_quantise(const QuantiseArguments& arguments, tilepost_dtype_t, int,
                            cudaStream_t stream) {
  return launched(
      "quantise " + stream_of(stream).name + " rows " + std::to_string(arguments.first_row) + "+" +
      std::to_string(arguments.rows) + " tile_n " + std::to_string(arguments.tile_n) + " steps " +
      std::to_string(arguments.steps.row) + ", " + std::to_string(arguments.steps.block));
}

}  // namespace tilepost::cuda
