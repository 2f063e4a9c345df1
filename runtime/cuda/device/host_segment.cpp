#include "runtime/cuda/device/host_segment.h"

#include <sys/ipc.h>
#include <sys/shm.h>

#include <atomic>
#include <cerrno>
#include <random>
#include <utility>

namespace tilepost::cuda {
namespace {

using Word = std::atomic<uint64_t>;
// Only atomics that need no lock work between processes (C++, [atomics.lockfree]).
static_assert(Word::is_always_lock_free && sizeof(Word) <= HostSegment::kFront);

constexpr int kOwnerOnly = 0600;

int64_t random_token() {
  std::random_device random;
  return static_cast<int64_t>((uint64_t{random()} << 32) | random() | 1);
}

Word& token_of(void* memory) {
  return *static_cast<Word*>(memory);
}

}  // namespace

HostSegment::Address HostSegment::make(size_t bytes) {
  const int id = shmget(IPC_PRIVATE, bytes, kOwnerOnly);
  if (id < 0) return {};
  const bool attached = attach(id, bytes);
  const int error = errno;
  // Linux still lets others attach the segment, and frees it when the last process that has
  // attached it is gone (shmat(2), Notes).
  shmctl(id, IPC_RMID, nullptr);
  errno = error;
  if (!attached) return {};
  const int64_t token = random_token();
  token_of(memory_).store(static_cast<uint64_t>(token), std::memory_order_release);
  return {id, token};
}

// An id belongs to an IPC namespace. In another namespace it may name no segment or another one.
bool HostSegment::join(const Address& address, size_t bytes) {
  if (address.token == 0) return false;
  if (memory_ == nullptr && !attach(address.segment, bytes)) return false;
  if (token_of(memory_).load(std::memory_order_acquire) == static_cast<uint64_t>(address.token))
    return true;
  detach();
  return false;
}

bool HostSegment::attach(int64_t segment, size_t bytes) {
  const auto id = static_cast<int>(segment);
  struct shmid_ds state {};
  if (shmctl(id, IPC_STAT, &state) != 0 || state.shm_segsz != bytes) return false;
  void* memory = shmat(id, nullptr, 0);
  if (memory == reinterpret_cast<void*>(-1)) return false;
  memory_ = memory;
  return true;
}

void HostSegment::detach() {
  if (void* memory = std::exchange(memory_, nullptr); memory != nullptr) shmdt(memory);
}

}  // namespace tilepost::cuda
