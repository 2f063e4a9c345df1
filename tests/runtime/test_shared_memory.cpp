// Memory that ranks share: its layout, how ranks map each other's memory, and that a failure on one
// rank fails on all and leaves nothing behind.
#include <cstring>
#include <set>

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/shared/layout.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tests/runtime/shared_ranks.h"

using namespace tilepost::cuda;
using Catch::Contains;
using fakes::world;
using sample::Program;
using shared_ranks::Made;
using shared_ranks::make;
using shared_ranks::Meeting;

namespace {

constexpr int64_t kBytes = 8192;
constexpr int64_t kBlock = 2 << 20;  // the bytes that are allocated for kBytes

// The error of all ranks. Checks that they fail alike, hold nothing and leave nothing.
std::string refusal(Meeting& meeting, tilepost_result_t expected) {
  const auto made = make(meeting, kBytes);
  for (const auto& rank : made) {
    CHECK(rank->result == expected);
    CHECK_FALSE(rank->memory.exists());
  }
  CHECK(world().live() == 0);
  return made[0]->text;
}

}  // namespace

TEST_CASE_METHOD(
    OnFakes,
    "regions of shared memory are aligned, disjoint and as large as the largest run needs") {
  const auto pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  const auto access = GENERATE(TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE);
  const auto sum = GENERATE(TILEPOST_SUM_STAGED, TILEPOST_SUM_ADDED);
  const int ranks = GENERATE(2, 3, 8);
  const bool gathers = pattern == TILEPOST_ALL_GATHER_GEMM;
  if (gathers && access == TILEPOST_ACCESS_WRITE) return;
  Program program;
  program.plan.access = access;
  program.plan.sum = sum;
  program.plan.map.m = 1000;
  program.plan.map.n = 264;
  program.plan.map.cluster = program.plan.kernel.cluster = 1;
  const int64_t share = (1000 + ranks - 1) / ranks;
  const auto tiles = static_cast<int32_t>((share + 127) / 128);
  if (gathers)
    program.use(pattern, ranks, TILEPOST_DIVISION_ARRIVALS, {0, tiles});
  else
    program.use(pattern, ranks, TILEPOST_DIVISION_SHARES, {tiles});
  program.plan.map.ranks = ranks;
  const tilepost::RunSizes most = tilepost::most_sizes(program.plan);
  const SharedLayout layout = shared_layout(program.plan, most);
  const bool reads = access == TILEPOST_ACCESS_READ;
  const int blocks = reads || sum == TILEPOST_SUM_STAGED ? ranks : 1;
  const bool sums = pattern == TILEPOST_GEMM_ALL_REDUCE || pattern == TILEPOST_GEMM_REDUCE_SCATTER;
  CHECK(layout.slot_bytes == (sums ? int64_t{tiles} * 128 * 264 * 2 : 0));

  const std::vector<std::pair<int64_t, int64_t>> regions = {
      {layout.flags, shared_flags_bytes(program.plan.map.num_groups, ranks)},
      {layout.warm_up, 1024},
      {layout.send, reads && !gathers ? most.send * 2 : 0},
      {layout.gathered, gathers ? 1000 * program.plan.k * 2 : 0},
      {layout.slots, blocks * layout.slot_bytes},
      {layout.sums, pattern == TILEPOST_GEMM_ALL_REDUCE ? layout.slot_bytes : 0},
      {layout.landed, !reads && pattern == TILEPOST_GEMM_ALL_TO_ALL ? ranks * share * 264 * 2 : 0}};
  int64_t end = 0, bytes = 0;
  for (const auto& [begin, size] : regions) {
    CHECK(begin % SharedLayout::kRegionAlignment == 0);
    CHECK(begin >= end);
    end = begin + size;
    bytes += (size + 1023) / 1024 * 1024;
  }
  CHECK(layout.bytes >= end);
  CHECK(layout.pushed == layout.bytes);
  CHECK(layout.bytes == bytes);
}

TEST_CASE_METHOD(OnFakes, "ranks that exchange messages share nothing") {
  const Program program;
  CHECK(shared_layout(program.plan, tilepost::most_sizes(program.plan)).bytes == 0);
}

TEST_CASE_METHOD(OnFakes, "every rank reaches every rank's memory, which is zeroed") {
  const bool processes = GENERATE(false, true);
  const int ranks = GENERATE(1, 2, 4);
  Meeting meeting(ranks);
  if (processes) meeting.edit = [](int rank, PeerInfo& info) { info.process[0] += rank; };
  const auto made = make(meeting, kBytes);
  for (int r = 0; r < ranks; ++r) {
    INFO(made[r]->text);
    REQUIRE(made[r]->result == TILEPOST_OK);
    CHECK(made[r]->memory.rank() == r);
    CHECK(made[r]->memory.ranks() == ranks);
    for (int i = 0; i < kBytes; ++i) REQUIRE(static_cast<char*>(made[r]->memory.own(0))[i] == 0);
    *static_cast<int*>(made[r]->memory.own(4096)) = 100 + r;
  }
  for (const auto& one : made)
    for (int r = 0; r < ranks; ++r) CHECK(*static_cast<int*>(one->memory.of(r, 4096)) == 100 + r);
  CHECK(world().live_mappings == (processes ? ranks * (ranks - 1) : 0));
  CHECK(world().accessible.size() == (processes || ranks == 1 ? 0 : size_t(ranks)));
}

TEST_CASE_METHOD(OnFakes, "memory is not freed before the other processes have unmapped it") {
  const int64_t left = tilepost_bytes_left();
  Meeting meeting(3);
  meeting.edit = [](int rank, PeerInfo& info) { info.process[0] += rank; };
  auto made = make(meeting, kBytes);
  for (const auto& rank : made) REQUIRE(rank->result == TILEPOST_OK);
  made[1].reset();
  CHECK(world().live_allocations == 3);
  CHECK(tilepost_bytes_left() == left + kBlock);  // of rank 1, mapped by ranks 0 and 2
  made[0].reset();
  CHECK(world().live_allocations == 3);
  SharedMemory::free_unmapped();
  CHECK(world().live_allocations == 3);
  made[2].reset();
  CHECK(world().live_allocations == 0);
  CHECK(tilepost_bytes_left() == left);
}

// When a rank fails, another rank that has mapped its memory may not have unmapped it yet.
TEST_CASE_METHOD(OnFakes, "memory that others may have mapped without locks is not freed") {
  const int64_t left = tilepost_bytes_left();
  Meeting meeting(3);
  meeting.edit = [](int rank, PeerInfo& info) {
    info.process[0] += rank;
    if (rank == 1) info.locks = 0;
  };
  world().cannot_open = {2};
  const auto made = make(meeting, kBytes);
  for (const auto& rank : made) {
    CHECK(rank->result == TILEPOST_UNSUPPORTED);
    CHECK_FALSE(rank->memory.exists());
  }
  CHECK(world().live_mappings == 0);
  CHECK(world().live_allocations == 3);
  CHECK(tilepost_bytes_left() == left + 3 * kBlock);
  for (const void* memory : std::set(world().allocated)) cudaFree(const_cast<void*>(memory));
}

// All ranks refuse because of the numbers they got, and none of them maps anything.
TEST_CASE_METHOD(OnFakes, "memory that nobody has begun to map is freed without locks too") {
  const int64_t left = tilepost_bytes_left();
  Meeting meeting(2);
  meeting.edit = [](int rank, PeerInfo& info) {
    info.process[0] += rank;
    info.locks = 0;
    if (rank == 1) info.status = TILEPOST_OUT_OF_MEMORY;
  };
  CHECK_THAT(refusal(meeting, TILEPOST_OUT_OF_MEMORY), Contains("rank 1"));
  CHECK(tilepost_bytes_left() == left);
}

TEST_CASE_METHOD(OnFakes, "ranks of which only some are of one process") {
  const bool on_already = GENERATE(false, true);
  if (on_already) world().accessible = {0, 1};
  Meeting meeting(3);
  meeting.edit = [](int rank, PeerInfo& info) { info.process[0] += rank == 2; };
  for (const auto& rank : make(meeting, kBytes)) CHECK(rank->result == TILEPOST_OK);
}

TEST_CASE_METHOD(OnFakes, "the other processes' devices need not be visible") {
  world().others_visible = false;
  world().peer_access = false;
  Meeting meeting(2);
  meeting.edit = [](int rank, PeerInfo& info) { info.process[0] += rank; };
  for (const auto& rank : make(meeting, kBytes)) CHECK(rank->result == TILEPOST_OK);
}

TEST_CASE_METHOD(OnFakes, "ranks of one process need no handles") {
  world().memory_handles = false;
  Meeting meeting(2);
  for (const auto& rank : make(meeting, kBytes)) CHECK(rank->result == TILEPOST_OK);
}

TEST_CASE_METHOD(OnFakes, "GPUs without peer access") {
  const bool processes = GENERATE(false, true);
  world().peer_access = false;
  Meeting meeting(3);
  if (processes) meeting.edit = [](int rank, PeerInfo& info) { info.process[0] += rank; };
  CHECK(refusal(meeting, TILEPOST_UNSUPPORTED) ==
        "rank 0 (device 0, 0000:01:00.0) has no peer access to rank 1 (device 1, 0000:02:00.0); "
        "use 'transport: nccl'");
}

TEST_CASE_METHOD(OnFakes, "ranks that would share different memory") {
  Meeting meeting(3);
  meeting.edit = [](int rank, PeerInfo& info) { info.bytes += 1024 * (rank == 2); };
  CHECK_THAT(refusal(meeting, TILEPOST_INVALID_ARGUMENT),
             Contains("rank 0 (device 0, 0000:01:00.0) would share " + std::to_string(kBytes)) &&
                 Contains("rank 2 (device 2, 0000:03:00.0) " + std::to_string(kBytes + 1024)));
}

TEST_CASE("what lies in shared memory keeps off the counters of who made it") {
  SharedLayout made;
  made.counters = 256, made.pushed = 8192, made.bytes = 12288;
  CHECK(fits(made, made));
  const auto fits_with = [&](int counters, int64_t pushed, int64_t bytes) {
    SharedLayout wanted;
    wanted.counters = counters, wanted.pushed = pushed, wanted.bytes = bytes;
    return fits(made, wanted);
  };
  CHECK(fits_with(256, 4096, 8192));
  CHECK_FALSE(fits_with(255, 4096, 8192));  // the regions would begin among the counters
  CHECK_FALSE(fits_with(257, 4096, 8192));
  CHECK_FALSE(fits_with(256, 8193, 8193));
  CHECK_FALSE(fits_with(256, 4096, 8193));
}

TEST_CASE_METHOD(OnFakes, "ranks on different hosts") {
  Meeting meeting(3);
  meeting.edit = [](int rank, PeerInfo& info) {
    info.host[1] += rank == 2;
    std::memcpy(info.host_name, "here", sizeof "here");
  };
  CHECK(refusal(meeting, TILEPOST_UNSUPPORTED) ==
        "rank 0 (device 0, 0000:01:00.0) runs on host 'here' and rank 2 (device 2, 0000:03:00.0) "
        "on host 'here', and only ranks of one host can share memory (containers of one machine "
        "are one host where NCCL_HOSTID is the same in all of them); use 'transport: nccl'");
}

TEST_CASE_METHOD(OnFakes, "processes that CUDA gives no handles") {
  world().memory_handles = false;
  Meeting meeting(2);
  meeting.edit = [](int rank, PeerInfo& info) { info.process[1] += rank; };
  CHECK_THAT(refusal(meeting, TILEPOST_UNSUPPORTED), Contains("rank 0") && Contains("rank 1") &&
                                                         Contains("different processes") &&
                                                         Contains("use 'transport: nccl'"));
}

TEST_CASE_METHOD(OnFakes, "more ranks than can share memory") {
  Meeting meeting(1);
  shared_ranks::Exchange exchange(meeting, 0);
  SharedMemory memory;
  CHECK(memory.create(exchange, 0, 65, 0, kBytes, 1) == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(), Contains("at most 64 ranks") && Contains("there are 65"));
}

TEST_CASE_METHOD(OnFakes, "what fails on one rank fails on all") {
  Meeting meeting(2);
  SECTION("memory that cannot be had") {
    meeting.edit = [](int rank, PeerInfo& info) {
      if (rank == 1) info.status = TILEPOST_OUT_OF_MEMORY;
    };
    CHECK_THAT(refusal(meeting, TILEPOST_OUT_OF_MEMORY),
               Contains("rank 1 (device 1, 0000:02:00.0) could not get the 2097152 bytes"));
  }
  SECTION("a rank that does not come") {
    Meeting alone(2);
    alone.leave();
    fakes::current_device() = 0;
    shared_ranks::Exchange exchange(alone, 0);
    SharedMemory memory;
    CHECK(memory.create(exchange, 0, 2, 0, kBytes, shared_ranks::kSeconds) == TILEPOST_TIMEOUT);
    CHECK_THAT(tilepost_last_error(),
               Contains("rank 0: tilepost_op_create: the other ranks' places did not come within "
                        "0.03 s"));
    CHECK(exchange.aborted);
    CHECK_FALSE(memory.exists());
    CHECK(world().live() == 0);
  }
}

// Lets each call fail in turn, on whichever rank makes it. When a rank fails while it fetches the
// last answers, the others cannot notice it. They find out by the deadline of their first run.
// Memory is left behind in one case only: where rank 0 fails between the first and the second
// answers, another process may come too late for its locks. That process then cannot know whether
// rank 0 maps its memory. So it leaves the memory to the process, and counts it.
TEST_CASE("a failure at any call ends on every rank and leaves nothing behind") {
  const bool processes = GENERATE(false, true);
  const int64_t left_before = tilepost_bytes_left();
  int64_t left = 0;
  for (int fail_at = 1;; ++fail_at) {
    OnFakes fresh;
    world().fail_at = fail_at;
    Meeting meeting(2);
    if (processes) meeting.edit = [](int rank, PeerInfo& info) { info.process[0] += rank; };
    bool failed = false, passed = false, answered = false;
    {
      const auto made = make(meeting, kBytes);
      for (const auto& rank : made) {
        failed |= rank->result != TILEPOST_OK;
        passed |= rank->result == TILEPOST_OK;
        CHECK((rank->result == TILEPOST_OK) == rank->memory.exists());
        CHECK((rank->result == TILEPOST_OK) == rank->text.empty());
      }
      answered = meeting.round == 3;
    }
    CAPTURE(fail_at, world().failed_call);
    const int64_t left_now = tilepost_bytes_left() - left_before - left;
    left += left_now;
    if (left_now != 0) {
      CHECK((processes && meeting.round == 1));
      CHECK(left_now == kBlock);
      CHECK(world().live() == 1);
      fresh.leaves_memory();
    }
    if (world().failed_call.empty()) break;
    const bool fetches = world().failed_call.rfind("cudaMemcpyAsync", 0) == 0 ||
                         world().failed_call.rfind("cudaStreamQuery", 0) == 0;
    if (failed && passed) CHECK((answered && fetches));
  }
}

TEST_CASE_METHOD(OnFakes, "memory left to the process is neither freed nor unmapped") {
  Meeting meeting(2);
  meeting.edit = [](int rank, PeerInfo& info) { info.process[0] += rank; };
  void *own = nullptr, *mapped = nullptr;
  {
    const auto made = make(meeting, kBytes);
    REQUIRE(made[0]->result == TILEPOST_OK);
    own = made[0]->memory.own(0);
    mapped = made[1]->memory.own(0);
    made[0]->memory.leak();
    CHECK_FALSE(made[0]->memory.exists());
  }
  CHECK(world().live_mappings == 1);
  CHECK(world().live_allocations == 2);  // also the other rank's memory, which is still mapped
  world().mappings.clear();
  cudaFree(own);
  cudaFree(mapped);
  world().live_mappings = 0;
}
