// Ranks that are processes of one program, forked from its first one, for tests of experts. They
// find each other through memory that all of them have.
#ifndef TILEPOST_TESTS_GPU_FORKED_RANKS_H
#define TILEPOST_TESTS_GPU_FORKED_RANKS_H

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/gpu/routing.h"

namespace gpu_routing {

constexpr int kSkipped = 77, kMostRanks = 8;
constexpr size_t kMostBytes = 4096;  // that a rank gathers at a time

// Memory of all processes.
struct Common {
  std::atomic<int> arrived, left;
  char bytes[kMostRanks][kMostBytes];
};

struct Rank {
  Common* common;
  int rank, ranks;
  int meetings = 0;

  // All ranks meet.
  void meet(std::atomic<int> Common::*counter) {
    std::atomic<int>& arrived = common->*counter;
    ++arrived;
    while (arrived.load() < (meetings + 1) * ranks) usleep(50);
  }
  // tilepost_all_gather_t
  static int gather(const void* own, void* all, size_t bytes, void* user) {
    Rank& me = *static_cast<Rank*>(user);
    if (bytes > kMostBytes) return 1;
    std::memcpy(me.common->bytes[me.rank], own, bytes);
    me.meet(&Common::arrived);
    for (int rank = 0; rank < me.ranks; ++rank)
      std::memcpy(static_cast<char*>(all) + rank * bytes, me.common->bytes[rank], bytes);
    me.meet(&Common::left);
    ++me.meetings;
    return 0;
  }
  // Returns when all ranks have called this.
  void meet_all() {
    char own = 0, all[kMostRanks];
    gather(&own, all, sizeof own, this);
  }
  // Makes the communicator of all ranks.
  tilepost_comm_t make_comm() {
    tilepost_comm_t comm = nullptr;
    OK(tilepost_comm_init_with(gather, this, rank, ranks, &comm));
    return comm;
  }
  // Makes the rank's GPU current. Returns false if there is no GPU. With fewer GPUs than ranks the
  // driver lets the kernels of ranks on one GPU take turns.
  bool set_device() const {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return false;
    CUDA(cudaSetDevice(rank % devices));
    return true;
  }
};

// Calls body(rank) in a process for each rank. Returns 0 if all of them do, kSkipped if some have
// nothing to run, otherwise 1.
template <class Body>
int fork_ranks(int ranks, const Body& body) {
  void* const memory =
      mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* const common = new (memory) Common{};
  for (int rank = 0; rank < ranks; ++rank)
    if (fork() == 0) std::exit(body(Rank{common, rank, ranks}));
  int worst = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    wait(&status);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (worst != 1 && code != 0) worst = code == kSkipped ? kSkipped : 1;
  }
  if (worst == kSkipped) std::printf("SKIP: no GPU\n");
  return worst;
}

}  // namespace gpu_routing

#endif  // TILEPOST_TESTS_GPU_FORKED_RANKS_H
