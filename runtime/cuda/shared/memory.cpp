// Ranks make shared memory in three steps. First they exchange where they are. Then each rank
// allocates its memory, and ranks exchange whether that succeeded and where the memory is. Last,
// each rank maps the others' memory, and ranks exchange whether that succeeded. So all ranks go on,
// or all fail with the same result.
#include "runtime/cuda/shared/memory.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <utility>

#include "runtime/cuda/watch/watch_page.h"

namespace tilepost::cuda {
namespace {

// CUDA's handles between processes are for whole blocks of this size. Another allocation in the
// last block would be shared too (CUDA C++ Programming Guide, Interprocess Communication).
constexpr int64_t kBlockBytes = int64_t{2} << 20;

constexpr const char* kWayOut = "; use 'transport: nccl'";

size_t allocation_bytes(int64_t bytes) {
  return static_cast<size_t>(SharedMemory::allocated_for(bytes));
}

// Sizes must agree, because each rank computes addresses in the others' memory from its own layout.
tilepost_result_t check_sizes(const std::vector<PeerInfo>& infos) {
  for (size_t r = 1; r < infos.size(); ++r)
    if (infos[r].bytes != infos[0].bytes)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "%s would share %lld bytes and %s %lld: their programs or tilepost_options_t "
                  "differ; make the operation alike on all ranks",
                  name_of(0, infos[0]).c_str(), static_cast<long long>(infos[0].bytes),
                  name_of(static_cast<int>(r), infos[r]).c_str(),
                  static_cast<long long>(infos[r].bytes));
  return TILEPOST_OK;
}

// Checks that all ranks got their memory and can share it. The calling rank got its memory. The
// error names the first rank that got none, or gives the reason why the ranks cannot share.
tilepost_result_t check_allocations(const std::vector<PeerInfo>& infos, int64_t bytes) {
  for (size_t r = 0; r < infos.size(); ++r)
    if (infos[r].status != TILEPOST_OK)
      return fail(static_cast<tilepost_result_t>(infos[r].status),
                  "%s could not get the %zu bytes that ranks share; its own error says why",
                  name_of(static_cast<int>(r), infos[r]).c_str(), allocation_bytes(bytes));
  const std::string reason = reason_not_to_share(infos);
  return reason.empty() ? TILEPOST_OK : fail(TILEPOST_UNSUPPORTED, "%s%s", reason.c_str(), kWayOut);
}

bool has_access(int device, int other) {
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, device, other) != cudaSuccess) cudaGetLastError();
  return can != 0;
}

std::string text_of(const char* call, cudaError_t error) {
  return std::string(call) + " → " + cudaGetErrorName(error) + ": " + cudaGetErrorString(error);
}

// The name of a file of locks. The file has the name only while the ranks open the file.
struct NamedLocks {
  explicit NamedLocks(int64_t of) : token(of) {}
  NamedLocks(const NamedLocks&) = delete;
  NamedLocks& operator=(const NamedLocks&) = delete;
  ~NamedLocks() { MappingLocks::take_name_away(token); }
  const int64_t token;
};

// Memory of this process that other processes have yet to unmap. The list is never destroyed,
// because static objects may still use it at the end.
struct Exported {
  void* memory;
  int64_t bytes;
  int rank;
  MappingLocks locks;
};
struct AllExported {
  std::mutex mutex;
  std::vector<Exported> all;
};
AllExported& exported() {
  static auto* const instance = new AllExported;
  return *instance;
}

}  // namespace

int64_t SharedMemory::allocated_for(int64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

SharedMemory::~SharedMemory() {
  release();
}

void SharedMemory::release() {
  for (size_t r = 0; r < opened_.size(); ++r) {
    if (!opened_[r]) continue;
    if (cudaIpcCloseMemHandle(bases_[r]) != cudaSuccess) cudaGetLastError();
    if (locks_) locks_.let_go(static_cast<int>(r), rank_);
  }
  release_own();
  if (pool_ != nullptr && cudaMemPoolDestroy(pool_) != cudaSuccess) cudaGetLastError();
  forget();
  free_unmapped();
}

// Without locks no rank can find out when the others have unmapped the memory, so it is not freed.
void SharedMemory::release_own() {
  if (own_ == nullptr) return;
  if (!exported_) {
    if (cudaFree(own_) != cudaSuccess) cudaGetLastError();
    return;
  }
  const auto bytes = static_cast<int64_t>(allocation_bytes(bytes_));
  add_bytes_left(bytes);
  if (!locks_) return;
  const std::lock_guard lock(exported().mutex);
  try {
    exported().all.push_back({own_, bytes, rank_, std::move(locks_)});
  } catch (const std::bad_alloc&) {  // the memory stays left to the process
  }
}

void SharedMemory::free_unmapped() {
  const std::lock_guard lock(exported().mutex);
  std::erase_if(exported().all, [](const Exported& memory) {
    if (memory.locks.is_held(memory.rank)) return false;
    if (cudaFree(memory.memory) != cudaSuccess) cudaGetLastError();
    add_bytes_left(-memory.bytes);
    return true;
  });
}

void SharedMemory::leak() {
  locks_.leak();
  if (own_ != nullptr) add_bytes_left(static_cast<int64_t>(allocation_bytes(bytes_)));
  forget();
}

void SharedMemory::forget() {
  own_ = nullptr;
  pool_ = nullptr;
  exported_ = may_be_mapped_ = false;
  bases_.clear();
  opened_.clear();
}

tilepost_result_t SharedMemory::create(ControlChannel& channel, int rank, int ranks, int device,
                                       int64_t bytes, double seconds) {
  if (ranks > kMostPeers)
    return fail(TILEPOST_UNSUPPORTED, "at most %d ranks can share memory, there are %d%s",
                kMostPeers, ranks, kWayOut);
  free_unmapped();
  rank_ = rank;
  bytes_ = bytes;
  bases_.assign(ranks, nullptr);
  opened_.assign(ranks, false);
  const tilepost_result_t result = share(channel, device, seconds);
  if (result == TILEPOST_OK) return result;
  // Another rank may already know of the memory and try to map it. If no other rank holds a lock,
  // is_held() has locked all of the memory, and keeping that lock prevents mapping. Without locks
  // the memory is freed only if no rank has begun to map.
  const bool is_mapped = locks_ ? locks_.is_held(rank_) : may_be_mapped_;
  const bool unmapped = own_ != nullptr && exported_ && !is_mapped;
  if (unmapped && cudaFree(std::exchange(own_, nullptr)) != cudaSuccess) cudaGetLastError();
  release();
  if (unmapped) locks_.leak();
  return result;
}

tilepost_result_t SharedMemory::share(ControlChannel& channel, int device, double seconds) {
  NumberExchange numbers(channel, ranks(), seconds);
  TILEPOST_TRY(numbers.create(kPeerInfoNumbers));
  const auto tell = [&](std::span<const int64_t> own, const char* what, std::vector<int64_t>& all) {
    const tilepost_result_t result = explain_absence(numbers.run(own, all), rank_, what, seconds);
    // The work that was issued may occupy the device, and freeing memory would wait for it.
    if (!numbers.is_idle()) leak();
    return result;
  };
  PeerInfo info;
  TILEPOST_TRY(make_peer_info(device, info));
  info.bytes = bytes_;
  const NamedLocks named(rank_ == 0 ? locks_.make() : 0);
  info.locks = named.token;
  std::vector<int64_t> all;
  TILEPOST_TRY(tell(numbers_of(info), "places", all));
  std::vector<PeerInfo> infos = peer_infos_of(all);
  TILEPOST_TRY(check_sizes(infos));
  const bool one_process = std::ranges::all_of(
      infos, [&](const PeerInfo& other) { return same_process(infos[0], other); });
  if (rank_ != 0 && !one_process && locks_.open(infos[0].locks)) info.locks = infos[0].locks;
  const tilepost_result_t allocated = allocate(device, one_process, numbers.stream(), info);
  const std::string text = allocated != TILEPOST_OK ? tilepost_last_error() : "";
  info.status = allocated;
  may_be_mapped_ = exported_;
  TILEPOST_TRY(tell(numbers_of(info), "memory", all));
  may_be_mapped_ = false;  // now every rank has the same numbers, by which either all ranks refuse
                           // or none
  if (allocated != TILEPOST_OK) return fail(allocated, "%s", text.c_str());
  infos = peer_infos_of(all);
  if (std::ranges::any_of(infos, [](const PeerInfo& other) { return other.locks == 0; }))
    locks_ = {};
  TILEPOST_TRY(check_allocations(infos, bytes_));
  may_be_mapped_ = exported_;
  const Trouble trouble = map_all(infos);
  const std::array<int64_t, 2> own = {trouble.kind, trouble.peer};
  TILEPOST_TRY(tell(own, "answers about memory", all));
  if (trouble.kind != Trouble::none) return report(rank_, trouble, infos);
  for (int r = 0; r < ranks(); ++r)
    if (all[2 * r] != Trouble::none)
      return report(r, {Trouble::Kind{all[2 * r]}, static_cast<int>(all[2 * r + 1]), ""}, infos);
  return TILEPOST_OK;
}

// Memory is zeroed in the stream of the exchange, so that it is zeroed before another rank learns
// of it.
tilepost_result_t SharedMemory::allocate(int device, bool one_process, cudaStream_t stream,
                                         PeerInfo& info) {
  const size_t bytes = allocation_bytes(bytes_);
  if (one_process)
    TILEPOST_TRY(allocate_from_pool(device, bytes, stream));
  else
    TILEPOST_CUDA(cudaMalloc(&own_, bytes));
  TILEPOST_CUDA(cudaMemsetAsync(own_, 0, bytes, stream));
  bases_[rank_] = own_;
  info.address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(own_));
  if (one_process) return TILEPOST_OK;
  exported_ = true;
  info.has_handle = cudaIpcGetMemHandle(&info.handle, own_) == cudaSuccess ? 1 : 0;
  if (info.has_handle == 0) cudaGetLastError();
  return TILEPOST_OK;
}

tilepost_result_t SharedMemory::allocate_from_pool(int device, size_t bytes, cudaStream_t stream) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, device};
  TILEPOST_CUDA(cudaMemPoolCreate(&pool_, &properties));
  TILEPOST_CUDA(cudaMallocFromPoolAsync(&own_, bytes, pool_, stream));
  return TILEPOST_OK;
}

SharedMemory::Trouble SharedMemory::map_all(const std::vector<PeerInfo>& infos) {
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank_) continue;
    Trouble trouble = map(peer, infos[rank_], infos[peer]);
    if (trouble.kind != Trouble::none) return trouble;
  }
  return {};
}

SharedMemory::Trouble SharedMemory::map(int peer, const PeerInfo& own, const PeerInfo& info) {
  return same_process(own, info) ? map_within_process(peer, own, info)
                                 : map_between_processes(peer, own, info);
}

// This rank gives the other access to its memory. The other rank does the same.
SharedMemory::Trouble SharedMemory::map_within_process(int peer, const PeerInfo& own,
                                                       const PeerInfo& info) {
  const int device = static_cast<int>(own.ordinal), other = static_cast<int>(info.ordinal);
  bases_[peer] = reinterpret_cast<void*>(static_cast<uintptr_t>(info.address));
  if (device == other) return {};
  if (!has_access(device, other)) return {Trouble::no_access, peer, ""};
  return pool_ != nullptr ? grant(peer, other) : enable_access(peer, other);
}

SharedMemory::Trouble SharedMemory::grant(int peer, int other) {
  cudaMemAccessDesc access{};
  access.location = {cudaMemLocationTypeDevice, other};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  const cudaError_t error = cudaMemPoolSetAccess(pool_, &access, 1);
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return {Trouble::not_mapped, peer, text_of("cudaMemPoolSetAccess", error)};
}

// Enables access between devices of this process if other ranks of the communicator are of other
// processes.
SharedMemory::Trouble SharedMemory::enable_access(int peer, int other) {
  const cudaError_t error = enable_peer_access(other);
  if (error == cudaSuccess) return {};
  return {Trouble::not_mapped, peer, text_of("cudaDeviceEnablePeerAccess", error)};
}

// If the other rank's device is hidden from this process (CUDA_VISIBLE_DEVICES), only opening the
// handle shows whether there is access.
SharedMemory::Trouble SharedMemory::map_between_processes(int peer, const PeerInfo& own,
                                                          const PeerInfo& info) {
  const int device = static_cast<int>(own.ordinal);
  int other = -1;
  const bool visible = cudaDeviceGetByPCIBusId(&other, info.bus) == cudaSuccess;
  if (!visible) cudaGetLastError();
  if (visible && other != device && !has_access(device, other))
    return {Trouble::no_access, peer, ""};
  if (locks_ && !locks_.hold(peer, rank_))
    return {Trouble::not_mapped, peer, "no lock on the memory was to be had"};
  const cudaError_t error =
      cudaIpcOpenMemHandle(&bases_[peer], info.handle, cudaIpcMemLazyEnablePeerAccess);
  opened_[peer] = error == cudaSuccess;
  if (error == cudaSuccess) return {};
  if (locks_) locks_.let_go(peer, rank_);
  cudaGetLastError();
  return {Trouble::not_mapped, peer, text_of("cudaIpcOpenMemHandle", error)};
}

tilepost_result_t SharedMemory::report(int rank, const Trouble& trouble,
                                       const std::vector<PeerInfo>& infos) const {
  const std::string one = name_of(rank, infos[rank]);
  const std::string other = name_of(trouble.peer, infos[trouble.peer]);
  if (trouble.kind == Trouble::no_access)
    return fail(TILEPOST_UNSUPPORTED, "%s has no peer access to %s%s", one.c_str(), other.c_str(),
                kWayOut);
  const bool processes = !same_process(infos[rank], infos[trouble.peer]);
  return fail(TILEPOST_UNSUPPORTED, "%s could not map the memory of %s: %s%s%s", one.c_str(),
              other.c_str(), trouble.text.empty() ? "its own error says why" : trouble.text.c_str(),
              processes ? "; where they are in containers, start these with one IPC and PID "
                          "namespace (--ipc=host --pid=host)"
                        : "",
              kWayOut);
}

}  // namespace tilepost::cuda
