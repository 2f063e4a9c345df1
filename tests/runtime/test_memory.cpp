// What an operation will take is known before it is made, and is what it then reports and what was
// allocated: for every pattern and every way in which ranks reach each other.
#include <algorithm>
#include <functional>
#include <map>

#include "runtime/cuda/shared/host/host_rings.h"
#include "runtime/map/host_rings.h"
#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::Rank;
using ranks::Ranks;
using sample::Program;

namespace {

struct Memories {
  std::vector<tilepost_memory_t> planned, taken;  // by rank
};

tilepost_memory_t empty() {
  return {sizeof(tilepost_memory_t), 0, 0, 0};
}

// Asks every rank, makes its operation, and asks that one. `comm`: whose communicators to use; null
// for new ones.
Memories memories_of(Program& program, Ranks& all, const tilepost_options_t& options,
                     Ranks* first = nullptr) {
  Memories found;
  found.planned.assign(static_cast<size_t>(all.count()), empty());
  found.taken = found.planned;
  all.on_all([&](int rank, Rank& mine) {
    const auto at = static_cast<size_t>(rank);
    const auto all_ok = [&] {
      tilepost_comm_t comm = first != nullptr ? first->at(rank).setup.comm : nullptr;
      if (comm == nullptr) {
        const tilepost_unique_id_t id{};
        TILEPOST_TRY(tilepost_comm_init(&id, rank, all.count(), &mine.setup.comm));
        comm = mine.setup.comm;
      }
      TILEPOST_TRY(tilepost_program_memory(comm, &program.program, &options, &found.planned[at]));
      TILEPOST_TRY(tilepost_op_create(comm, &program.program, &options, &mine.setup.op));
      return tilepost_op_memory(mine.setup.op, &found.taken[at]);
    };
    mine.result = all_ok();
    if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
  });
  INFO(all.text());
  REQUIRE(all.all_ok());
  return found;
}

int64_t live(const std::map<const void*, size_t>& sizes) {
  const std::lock_guard lock(world().mutex);
  int64_t sum = 0;
  for (const auto& [memory, bytes] : sizes) sum += static_cast<int64_t>(bytes);
  return sum;
}

// Rings are memory of the host that is pinned where it lies. The fakes do not allocate it.
int64_t ring_bytes(const tilepost_plan_t& plan) {
  if (plan.transport != TILEPOST_TRANSPORT_HOST_COPIES) return 0;
  tilepost::cuda::RingShape shape;
  shape.channels = tilepost::host_channels(tilepost::row_of(plan));
  return tilepost::cuda::HostRings::bytes_of(plan.ranks, shape);
}

// Checks an operation on `count` ranks.
void check(const std::function<void(Program&)>& make, int count) {
  const OnFakes fresh;
  Program program;
  make(program);
  Ranks all(program, count);
  const tilepost_options_t options = tilepost_default_options();
  const Memories found = memories_of(program, all, options);
  int64_t device = 0, pinned = 0;
  for (int rank = 0; rank < count; ++rank) {
    CAPTURE(rank);
    const tilepost_memory_t &planned = found.planned[static_cast<size_t>(rank)],
                            &taken = found.taken[static_cast<size_t>(rank)];
    CHECK(planned.device_bytes == taken.device_bytes);
    CHECK(planned.shared_bytes == taken.shared_bytes);
    CHECK(planned.pinned_bytes == taken.pinned_bytes);
    CHECK(planned.shared_bytes <= planned.device_bytes);
    const bool shares = program.plan.access != TILEPOST_ACCESS_MESSAGES ||
                        program.plan.transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
    CHECK((planned.shared_bytes > 0) == shares);
    tilepost_op_info_t info{};
    CHECK(tilepost_op_get_info(all.at(rank).setup.op, &info) == TILEPOST_OK);
    CHECK(info.device_bytes == taken.device_bytes);
    device += taken.device_bytes;
    pinned += taken.pinned_bytes - ring_bytes(program.plan);
  }
  CHECK(device == live(world().device_sizes));
  CHECK(pinned == live(world().pinned_sizes));
  all.destroy();
}

void use_messages(Program& program, tilepost_pattern_t pattern, int ranks,
                  tilepost_transport_t transport, tilepost_routing_t routing) {
  const bool gathers = tilepost::row_of(pattern).moves_input();
  program.plan.transport = transport;
  program.plan.routing = routing;
  program.plan.comm_lanes = gathers ? 1 : 2;
  if (transport == TILEPOST_TRANSPORT_NONE) {
    program.plan.comm_lanes = 1;
    program.plan.comm_ctas = 0;
    program.plan.gemm_ctas = program.plan.sms;
  }
  const bool once = transport == TILEPOST_TRANSPORT_NONE;
  if (gathers)
    program.use(pattern, ranks, TILEPOST_DIVISION_ARRIVALS,
                once ? std::vector{2} : std::vector{0, 1, 2});
  else if (pattern == TILEPOST_GEMM_ALL_REDUCE || pattern == TILEPOST_GEMM)
    program.use(pattern, ranks, TILEPOST_DIVISION_ROWS, once ? std::vector{4} : std::vector{2, 4});
  else
    program.use(pattern, ranks, TILEPOST_DIVISION_SHARES,
                once ? std::vector{2} : std::vector{1, 2});
}

}  // namespace

TEST_CASE("memory: what ranks with shared memory take is known before") {
  using ranks::Way;
  std::vector<Way> ways;
  for (const auto pattern : {kAllReduce, kReduceScatter, kAllToAll, kAllGather, kAllToAllGemm})
    for (const Way& way : {ranks::copies(pattern), ranks::through_host(pattern)})
      ways.push_back(way);
  for (const auto pattern : {kAllReduce, kReduceScatter, kAllToAll}) {
    ways.push_back(ranks::stores(pattern));
    ways.push_back(ranks::tasks(pattern));
    ways.push_back(ranks::whole(pattern));
    ways.push_back(ranks::fuses(pattern));
  }
  ways.push_back(ranks::stores(kReduceScatter, TILEPOST_SUM_ADDED));
  ways.push_back(ranks::pushed_rows());
  ways.push_back(ranks::launches(kAllGather));
  ways.push_back(ranks::copies_beside(kAllGather));
  for (const Way& way : ways)
    for (const int count : {2, 3}) {
      CAPTURE(way, count);
      check([&](Program& program) { ranks::use(program, way, count, 37); }, count);
    }
}

TEST_CASE("memory: what ranks that exchange tiles take is known before") {
  for (const auto pattern : {kAllReduce, kReduceScatter, kAllToAll})
    for (const auto shots : {TILEPOST_ONE_SHOT, TILEPOST_ONE_SHOT_LINES}) {
      CAPTURE(static_cast<int>(pattern), static_cast<int>(shots));
      check([&](Program& program) { ranks::use_exchange(program, shots, 3, 61, 1, pattern); }, 3);
    }
  check([](Program& program) { ranks::use_exchanged_rows(program, 3, 61); }, 3);
}

TEST_CASE("memory: what messages take is known before") {
  for (const auto transport : {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_NCCL_SYMMETRIC})
    for (const auto pattern : {kAllReduce, kReduceScatter, kAllToAll, kAllGather}) {
      CAPTURE(static_cast<int>(transport), static_cast<int>(pattern));
      check(
          [&](Program& program) {
            use_messages(program, pattern, 2, transport, TILEPOST_ROUTING_EVEN);
          },
          2);
    }
  for (const auto routing : {TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
    CAPTURE(static_cast<int>(routing));
    check(
        [&](Program& program) {
          ranks::use(program, ranks::through_host(kAllToAll), 2, 37, routing);
        },
        2);
  }
}

TEST_CASE("memory: schedules of any number of rows are counted") {
  const auto any_m = [](Program& program) {
    ranks::use(program, ranks::tasks(kReduceScatter), 2, 37);
    program.use_any_m();
    program.finish();
  };
  check(any_m, 2);
}

// An operation that finds room in memory of another one takes none, before and after.
TEST_CASE("memory: what is shared with another operation is taken once") {
  const OnFakes fresh;
  Program program;
  ranks::use(program, ranks::tasks(kReduceScatter), 2, 37);
  Ranks first(program, 2), second(program, first);
  tilepost_options_t options = tilepost_default_options();
  options.share_memory = 1;
  const Memories made = memories_of(program, first, options);
  const Memories found = memories_of(program, second, options, &first);
  for (size_t rank = 0; rank < 2; ++rank) {
    CHECK(made.planned[rank].shared_bytes == made.taken[rank].shared_bytes);
    CHECK(made.taken[rank].shared_bytes > 0);
    CHECK(found.planned[rank].shared_bytes == 0);
    CHECK(found.taken[rank].shared_bytes == 0);
    CHECK(found.planned[rank].device_bytes == found.taken[rank].device_bytes);
    CHECK(found.planned[rank].device_bytes < made.planned[rank].device_bytes);
  }
  second.destroy();
  first.destroy();
}

TEST_CASE_METHOD(Operation, "memory: wrong arguments are named, and nothing is written") {
  create();
  tilepost_memory_t memory{sizeof memory, 7, 7, 7};
  CHECK(tilepost_program_memory(nullptr, &program.program, nullptr, &memory) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("comm is null"));
  CHECK(tilepost_program_memory(setup.comm, nullptr, nullptr, &memory) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("program is null"));
  CHECK(tilepost_program_memory(setup.comm, &program.program, nullptr, nullptr) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_op_memory(nullptr, &memory) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_op_memory(setup.op, nullptr) == TILEPOST_INVALID_ARGUMENT);
  tilepost_options_t options = tilepost_default_options();
  options.schedule_bytes = -1;
  CHECK(tilepost_program_memory(setup.comm, &program.program, &options, &memory) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("schedule_bytes"));
  // A program that could not be made into an operation has no memory either.
  program.plan.kernel.arch = 100;
  CHECK(tilepost_program_memory(setup.comm, &program.program, nullptr, &memory) ==
        TILEPOST_UNSUPPORTED);
  program.plan.kernel.arch = 90;
  CHECK(memory.device_bytes == 7);
  memory.struct_size = 8;
  CHECK(tilepost_program_memory(setup.comm, &program.program, nullptr, &memory) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("memory.struct_size is 8, expected 32"));
  CHECK(tilepost_op_memory(setup.op, &memory) == TILEPOST_INVALID_ARGUMENT);
}
