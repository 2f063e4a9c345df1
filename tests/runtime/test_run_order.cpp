// Runs of several operations: which take turns on a device, whatever their streams are, and which
// run side by side.
#include <map>
#include <random>

#include "runtime/cuda/shared/run_order.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tests/runtime/ranks.h"

using Catch::Contains;
using fakes::world;
using order::Order;
using sample::count_calls;
using sample::Program;
using sample::run_on;
using sample::Setup;
using tilepost::cuda::RunOrder;

namespace {

// A kind of operation: edits a program for three ranks.
struct Kind {
  const char* name;
  void (*use)(Program& program);
  int64_t m = 0;  // rows of its runs; 0: the plan's
};

void use_nccl(Program& program) {
  program.plan.map.m = 768;
  program.use(kReduceScatter, 3, TILEPOST_DIVISION_SHARES, {1, 2});
}
void use_nccl_gather(Program& program) {
  program.plan.map.m = 768;
  program.use(kAllGather, 3, TILEPOST_DIVISION_ARRIVALS, {0, 1, 2});
}
void use_none(Program& program) {
  use_nccl(program);
  program.use_sequence(2);
}
template <tilepost_pattern_t pattern>
void use_tasks(Program& program) {
  ranks::use(program, ranks::tasks(pattern), 3, 48);
}
template <tilepost_pattern_t pattern>
void use_copies(Program& program) {
  ranks::use(program, ranks::copies(pattern), 3, 48);
}
void use_stores(Program& program) {
  ranks::use(program, ranks::stores(kReduceScatter), 3, 48);
}
void use_pushed_rows(Program& program) {
  ranks::use(program, ranks::pushed_rows(), 3, 48);
}
void use_nccl_launches(Program& program) {
  program.plan.neighbours = 1;
  use_nccl_gather(program);
}
void use_launches(Program& program) {
  ranks::use(program, ranks::launches(kAllGather), 3, 48);
}
void use_few_rows(Program& program) {
  program.use_any_m();
  use_tasks<kAllReduce>(program);
}

// kHolding: kinds whose kernels wait for other ranks while they hold SMs. kOthers: kinds whose
// kernels do not.
const Kind kHolding[] = {{"all_reduce, peer, tasks", use_tasks<kAllReduce>},
                         {"all_to_all, peer, tasks", use_tasks<kAllToAll>},
                         {"all_gather, nccl", use_nccl_gather},
                         {"all_gather, copy_engine", use_copies<kAllGather>},
                         {"all_gather, copy_engine, tasks", use_tasks<kAllGather>},
                         {"all_gather, peer", use_pushed_rows}};
const Kind kOthers[] = {{"reduce_scatter, nccl", use_nccl},
                        {"reduce_scatter, none", use_none},
                        {"all_reduce, copy_engine", use_copies<kAllReduce>},
                        {"reduce_scatter, peer", use_stores},
                        {"all_gather, nccl, launches", use_nccl_launches},
                        {"all_gather, copy_engine, launches", use_launches},
                        {"all_reduce, peer, few rows", use_few_rows, 5}};

// Two operations on a communicator, on rank 1 of three.
class TwoKinds : public OnFakes {
 public:
  void create(const Kind& one, const Kind& other) {
    one.use(programs_[0]);
    other.use(programs_[1]);
    REQUIRE(setups_[0].create(programs_[0]) == TILEPOST_OK);
    REQUIRE(setups_[1].create_on(setups_[0].comm, programs_[1], 0, false) == TILEPOST_OK);
    ms_[0] = one.m;
    ms_[1] = other.m;
    for (const int which : {0, 1})
      if (ms_[which] != 0) run(which, "user");  // makes the schedule for this number of rows
    world().reset_calls();
  }
  // A run of operation `which`.
  void run(int which, const std::string& stream) {
    programs_[which].weave();
    CUstream_st*& on = streams_[stream];
    if (on == nullptr) on = fakes::user_stream(stream);
    REQUIRE(run_on(setups_[which], on, ms_[which]) == TILEPOST_OK);
  }
  tilepost_op_t op(int which) const { return setups_[which].op; }
  void leave(int which) { setups_[which].release(); }

 private:
  Program programs_[2];
  Setup setups_[2];
  int64_t ms_[2] = {};
  std::map<std::string, CUstream_st*> streams_;
};

}  // namespace

TEST_CASE_METHOD(TwoKinds,
                 "runs whose kernels hold SMs while they wait take turns with all others") {
  const int holding = GENERATE(range(0, static_cast<int>(std::size(kHolding))));
  const int other = GENERATE(range(0, static_cast<int>(std::size(kOthers) + 1)));
  const bool first = GENERATE(true, false);
  const Kind& another = other == 0 ? kHolding[0] : kOthers[other - 1];
  CAPTURE(kHolding[holding].name, another.name, first);
  create(kHolding[holding], another);
  run(first ? 0 : 1, "user");
  const size_t next = world().log.size();
  run(first ? 1 : 0, "b");
  CHECK(Order().all_behind_user(next));
}

TEST_CASE_METHOD(TwoKinds, "other runs go side by side, and follow a run that holds SMs once") {
  const int one = GENERATE(range(0, static_cast<int>(std::size(kOthers))));
  const int other = GENERATE(range(0, static_cast<int>(std::size(kOthers))));
  CAPTURE(kOthers[one].name, kOthers[other].name);
  create(kOthers[one], kOthers[other]);
  run(0, "user");
  const size_t next = world().log.size();
  run(1, "b");
  CHECK(Order().none_behind_user(next));
}

TEST_CASE_METHOD(TwoKinds, "runs on one stream wait for nothing more than alone") {
  const int holding = GENERATE(range(0, static_cast<int>(std::size(kHolding))));
  const int other = GENERATE(range(0, static_cast<int>(std::size(kOthers))));
  CAPTURE(kHolding[holding].name, kOthers[other].name);
  create(kHolding[holding], kOthers[other]);
  for (int round = 0; round < 2; ++round)
    for (const int which : {0, 1}) run(which, "user");
  world().reset_calls();
  run(0, "user");
  const int alone = count_calls("cudaStreamWaitEvent"), records = count_calls("cudaEventRecord");
  run(0, "user");
  CHECK(count_calls("cudaStreamWaitEvent") == 2 * alone);
  CHECK(count_calls("cudaEventRecord") == 2 * records);
  world().reset_calls();
  run(1, "user");
  const int waits = count_calls("cudaStreamWaitEvent");
  run(0, "user");
  CHECK(count_calls("cudaStreamWaitEvent") == waits + alone);
  // On another stream the run waits once. It does not wait again until the other operation has run
  // again.
  world().reset_calls();
  run(1, "b");
  CHECK(count_calls("cudaStreamWaitEvent b") >= 1);
  world().reset_calls();
  run(1, "b");
  CHECK(count_calls("cudaStreamWaitEvent") == waits);
}

TEST_CASE_METHOD(TwoKinds, "runs of an operation that is no more are not waited for") {
  create(kHolding[2], kHolding[0]);
  run(1, "a");
  leave(1);
  run(0, "b");
  run(0, "b");
  CHECK(tilepost_op_synchronize(op(0)) == TILEPOST_OK);
}

TEST_CASE_METHOD(OnFakes, "an operation is made, and routed, when no run holds SMs any more") {
  const bool routes = GENERATE(false, true);
  CAPTURE(routes);
  Program gathers, other;
  use_nccl_gather(gathers);
  if (routes)
    ranks::use(other, ranks::copies(kAllToAll), 3, 48, TILEPOST_ROUTING_SPLITS);
  else
    use_nccl(other);
  Setup first, second;
  REQUIRE(first.create(gathers, 0.05) == TILEPOST_OK);
  if (routes) REQUIRE(second.create_on(first.comm, other, 0, false) == TILEPOST_OK);
  world().gemm_waits = world().gemm_stops = true;
  REQUIRE(run_on(first, fakes::user_stream("a")) == TILEPOST_OK);
  world().reset_calls();
  tilepost_result_t result = TILEPOST_OK;
  if (routes) {
    const int64_t splits[] = {16, 16, 16};
    tilepost_route_t route{};
    route.struct_size = sizeof route;
    route.m = -1;
    route.splits = splits;
    result = tilepost_op_route(second.op, &route, nullptr);
  } else {
    result = second.create_on(first.comm, other, 0, false);
  }
  // The deadline of that run ends the wait. Nothing was sent to other ranks before.
  CHECK(result == TILEPOST_ABORTED);
  CHECK_THAT(tilepost_last_error(), Contains("waited for its runs"));
  CHECK(world().nccl.empty());
  CHECK(count_calls("cudaMalloc") == 0);
}

TEST_CASE_METHOD(OnFakes, "order of runs: of any two of which one is exclusive one comes first") {
  constexpr int kMembers = 4, kStreams = 3, kRuns = 24;
  const int seed = GENERATE(range(0, 200));
  CAPTURE(seed);
  std::minstd_rand random(static_cast<unsigned>(seed) + 1);
  const auto draw = [&](int end) { return static_cast<int>(random() / 7 % end); };
  RunOrder order;
  std::vector<tilepost::cuda::Event> ends(kRuns);
  std::vector<std::unique_ptr<RunOrder::Member>> members(kMembers);
  std::vector<int> last(kMembers, -1), member_of, stream_of;
  std::vector<bool> exclusive, over(kRuns);
  for (auto& member : members) member = std::make_unique<RunOrder::Member>();
  world().reset_calls();
  for (int i = 0; i < kRuns; ++i) {
    const int which = draw(kMembers), stream = draw(kStreams);
    if (draw(12) == 0) {  // another member takes its place, when all runs of this one have ended
      order.leave(*members[which]);
      const Order so_far;
      for (int j = 0; j < i; ++j)
        for (int k = 0; k <= j && member_of[j] == which; ++k)
          if (k == j || so_far.before("run", k, "run", j)) over[k] = true;
      last[which] = -1;
      members[which] = std::make_unique<RunOrder::Member>();
    }
    const std::string name(1, static_cast<char>('a' + stream));
    CUstream_st* const on = fakes::user_stream(name);
    const RunOrder::Run run{on, static_cast<unsigned long long>(stream) + 1, draw(3) == 0};
    // Runs of one operation follow each other.
    if (last[which] >= 0)
      REQUIRE(cudaStreamWaitEvent(on, ends[last[which]].get(), 0) == cudaSuccess);
    REQUIRE(order.follow(*members[which], run) == TILEPOST_OK);
    const bool fails = draw(10) == 0;
    if (!fails) fakes::call("run " + name);
    if (fails) {  // a run that fails leaves no trace
      --i;
      continue;
    }
    REQUIRE(make_event(ends[i]) == TILEPOST_OK);
    REQUIRE(cudaEventRecord(ends[i].get(), on) == cudaSuccess);
    order.add(*members[which], run, ends[i].get());
    last[which] = i;
    member_of.push_back(which);
    stream_of.push_back(stream);
    exclusive.push_back(run.exclusive);
  }
  const Order seen;
  REQUIRE(seen.count("run") == kRuns);
  for (int i = 0; i < kRuns; ++i)
    for (int j = i + 1; j < kRuns; ++j)
      if (!over[i] && (exclusive[i] || exclusive[j])) CHECK(seen.before("run", i, "run", j));
}
