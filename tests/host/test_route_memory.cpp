// The numbers that a rank gives the others for a route stay after the rank gives up, because
// another rank may be reading them. This test replaces the program's allocator, so it has an
// executable of its own.
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "tests/catch.h"
#include "tests/host/problem.h"

namespace {

constexpr int kRanks = 3, kReader = 2;
constexpr double kDeadline = 0.2;
constexpr size_t kMostBytes = 4096;
constexpr unsigned char kFreed = 0x5a;

// Watches the reader's allocations of `bytes` bytes. The reader is held in one of them. When it
// frees this memory, the content is kept.
struct Hold {
  size_t bytes;
  int before;  // how many allocations of that size come first
  void* memory = nullptr;
  bool is_kept = false;
  unsigned char kept[kMostBytes] = {};
};
thread_local Hold* hold = nullptr;
std::atomic<bool> held{false}, let_go{false};

void* allocate(size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (hold == nullptr || hold->bytes != bytes || hold->before-- != 0) return memory;
  hold->memory = memory;
  held = true;
  while (!let_go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return memory;
}

void release(void* memory) {
  if (memory == nullptr) return;
  if (hold != nullptr && hold->memory == memory && !hold->is_kept) {
    hold->is_kept = true;
    std::memcpy(hold->kept, memory, hold->bytes);
  }
  if (held && !let_go) std::memset(memory, kFreed, malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, size_t) noexcept {
  release(memory);
}

// The others give up when the reader has found their numbers and is about to copy them. The copy
// may come at any time later.
TEST_CASE("ranks read what another has told for a route though it has given up") {
  Problem problem;
  problem.pattern = TILEPOST_GEMM_ALL_TO_ALL;
  problem.routing = TILEPOST_ROUTING_SPLITS;
  problem.ranks = kRanks;
  problem.m = 11 * Problem::kTileM;
  problem.groups = 11;
  const Program program(problem);
  const Comms comms(kRanks);
  tilepost_op_t ops[kRanks] = {};
  for (int rank = 0; rank < kRanks; ++rank) {
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = rank == kReader ? 60 : kDeadline;
    REQUIRE(tilepost_op_create(comms[rank], &program.get(), &options, &ops[rank]) == TILEPOST_OK);
  }
  // Every rank sends all its rows to rank 1. Ranks exchange the number of rows by group and rank.
  const size_t groups = program.map().groups.size();
  const int64_t splits[] = {0, problem.m, 0};
  // Two allocations of this size come first: the reader's own counts, and the copy that it gives to
  // the others.
  Hold reader{groups * kRanks * sizeof(int64_t), 2};
  REQUIRE(reader.bytes <= kMostBytes);
  held = let_go = false;
  tilepost_result_t results[kRanks] = {}, again[kReader] = {};
  std::string texts[kRanks];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      const tilepost_route_t route{sizeof route, problem.m, splits, nullptr};
      if (rank == kReader) hold = &reader;
      results[rank] = tilepost_op_route(ops[rank], &route, nullptr);
      texts[rank] = tilepost_last_error();
      hold = nullptr;
      // A route that comes too late gives nothing to others.
      if (rank != kReader) again[rank] = tilepost_op_route(ops[rank], &route, nullptr);
    });
  for (int rank = 0; rank < kReader; ++rank) threads[rank].join();
  CHECK(held);
  for (const tilepost_result_t result : again) CHECK(result != TILEPOST_OK);
  let_go = true;
  threads[kReader].join();
  for (int rank = 0; rank < kRanks; ++rank) {
    CHECK(results[rank] == TILEPOST_TIMEOUT);
    CHECK_THAT(texts[rank],
               Catch::Contains("rank 2 did not arrive at the collective within 0.2 s"));
    CHECK(tilepost_op_destroy(ops[rank]) == TILEPOST_OK);
  }
  REQUIRE(reader.is_kept);
  int64_t told[kMostBytes / sizeof(int64_t)], rows = 0;
  std::memcpy(told, reader.kept, reader.bytes);
  for (size_t group = 0; group < groups; ++group) {
    rows += told[group * kRanks + 1];
    CHECK(told[group * kRanks] == 0);
    CHECK(told[group * kRanks + 2] == 0);
  }
  CHECK(rows == problem.m);
}
