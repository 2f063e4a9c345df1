// Arguments and plans that the host target refuses. Each error has the value and its bound.
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tests/catch.h"
#include "tests/host/problem.h"
#include "tilepost/timeline.h"

TEST_CASE("communicators of an impossible size are refused") {
  tilepost_comm_t comms[65] = {};
  const int world = GENERATE(-1, 0, 65);
  CHECK(tilepost_comm_create_host(world, comms) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("from 1 to 64, got " + std::to_string(world)));
  CHECK(comms[0] == nullptr);
  CHECK(tilepost_comm_create_host(1, nullptr) == TILEPOST_INVALID_ARGUMENT);
  REQUIRE(tilepost_comm_create_host(64, comms) == TILEPOST_OK);
  for (const tilepost_comm_t comm : comms) CHECK(tilepost_comm_destroy(comm) == TILEPOST_OK);
}

TEST_CASE("a communicator is not destroyed while it has operations") {
  Problem problem;
  problem.ranks = 1;
  const Program program(problem);
  tilepost_comm_t comm = nullptr;
  REQUIRE(tilepost_comm_create_host(1, &comm) == TILEPOST_OK);
  tilepost_op_t ops[2] = {};
  for (tilepost_op_t& op : ops)
    REQUIRE(tilepost_op_create(comm, &program.get(), nullptr, &op) == TILEPOST_OK);
  for (int left = 2; left > 0; --left) {
    CHECK(tilepost_comm_destroy(comm) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("have not been destroyed: " + std::to_string(left)));
    CHECK(tilepost_op_destroy(ops[left - 1]) == TILEPOST_OK);
  }
  CHECK(tilepost_comm_destroy(comm) == TILEPOST_OK);
}

TEST_CASE("the host target has no timeline, and says so") {
  Problem problem;
  problem.ranks = 1;
  const Program program(problem);
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  CHECK(tilepost_op_record_timeline(ops[0]) == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("the host target has no timeline"));
  CHECK(tilepost_op_write_timeline(ops[0], "timeline.json") == TILEPOST_UNSUPPORTED);
  CHECK(tilepost_op_record_timeline(nullptr) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE("pointers and streams are checked") {
  Problem problem;
  problem.ranks = 1;
  std::mt19937_64 random(1);
  Data data(problem, false, random);
  const Program program(problem);
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  void* const good = data.out[0].data();
  void* const odd = static_cast<char*>(good) + 1;
  void* const even = static_cast<char*>(good) + 2;
  auto* const stream = reinterpret_cast<CUstream_st*>(good);
  const struct {
    const void *a, *b;
    void* out;
    CUstream_st* stream;
    const char* message;
  } calls[] = {{nullptr, good, good, nullptr, "a is null"},
               {good, nullptr, good, nullptr, "b is null"},
               {good, good, nullptr, nullptr, "out is null"},
               {odd, good, good, nullptr, "a must be a multiple of 16 bytes, got 0x"},
               {even, good, good, nullptr, "which is 2 bytes past one"},
               {good, even, good, nullptr, "b must be a multiple of 16 bytes"},
               {good, good, even, nullptr, "out must be a multiple of 16 bytes"},
               {good, good, good, stream, "stream must be null"}};
  for (const auto& call : calls) {
    CHECK(tilepost_op_run(ops[0], call.a, call.b, call.out, call.stream) ==
          TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains(call.message));
  }
  CHECK(tilepost_op_status(ops[0]) == TILEPOST_OK);
  data.run(ops);
  CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_OK);
  CHECK(data.compare(program) == "");
}

TEST_CASE("plans that this target cannot run are refused") {
  Problem problem;
  const struct {
    const char* message;
    tilepost_result_t result;
    std::function<void(Program&)> spoil;
  } cases[] = {
      {"no plan for the host target", TILEPOST_UNSUPPORTED,
       [](Program& p) { p.plan().kernel.launch = TILEPOST_LAUNCH_TMA; }},
      {"no plan for the host target", TILEPOST_UNSUPPORTED,
       [](Program& p) { p.edit().num_plans = 0; }},
      {"does not know transport 1", TILEPOST_UNSUPPORTED,
       [](Program& p) { p.plan().transport = TILEPOST_TRANSPORT_NCCL; }},
      {"does not know pattern 9", TILEPOST_UNSUPPORTED,
       [](Program& p) { p.plan().pattern = static_cast<tilepost_pattern_t>(9); }},
      {"output type is 2, expected one of 16 or 32 bits", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.plan().output = TILEPOST_E4M3; }},
      {"consumer is 1, expected no unpermute", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.plan().consumer = TILEPOST_CONSUMER_UNPERMUTE; }},
      {"does not know layout 7", TILEPOST_UNSUPPORTED,
       [](Program& p) { p.plan().map.layout = static_cast<tilepost_layout_t>(7); }},
      {"no host kernel", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.plan().kernel.host_function = nullptr; }},
      {"planned for 3 ranks, the communicator has 2", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.plan().ranks = 3; }},
      {"k is 0", TILEPOST_INVALID_ARGUMENT, [](Program& p) { p.plan().k = 0; }},
      {"m is -5", TILEPOST_INVALID_ARGUMENT, [](Program& p) { p.plan().map.m = -5; }},
      {"band is 0", TILEPOST_INVALID_ARGUMENT, [](Program& p) { p.plan().map.band = 0; }},
      {"fewer than 2^31 tiles", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.plan().map.m = p.plan().map.n = INT32_MAX; }},
      {"no cuts", TILEPOST_INVALID_ARGUMENT, [](Program& p) { p.plan().map.cuts = nullptr; }},
      {"3 group cuts do not increase", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.cuts()[0] = 0; }},
      {"3 group cuts do not increase", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.cuts()[2] = 3; }},
      {"number of groups is 3, expected 1", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.plan().transport = TILEPOST_TRANSPORT_NONE; }},
      {"number of shares is 2, expected 1", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.plan().map.ranks = 2; }},
      {"division is 1, expected rows (0)", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.plan().map.division = TILEPOST_DIVISION_SHARES; }},
      {"does not know routing 3", TILEPOST_UNSUPPORTED,
       [](Program& p) { p.plan().routing = static_cast<tilepost_routing_t>(3); }},
      {"the plan says", TILEPOST_INVALID_ARGUMENT, [](Program& p) { ++p.plan().map_hash; }},
      {"group 1 of the plan", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { ++p.groups()[1].target; }},
      {"generated for ABI 0", TILEPOST_INVALID_ARGUMENT,
       [](Program& p) { p.edit().abi_version = 0; }}};
  const Comms comms(2);
  for (const auto& spoilt : cases) {
    Program program(problem);
    spoilt.spoil(program);
    tilepost_op_t op = nullptr;
    INFO(spoilt.message);
    CHECK(tilepost_op_create(comms[0], &program.get(), nullptr, &op) == spoilt.result);
    CHECK_THAT(tilepost_last_error(), Catch::Contains(spoilt.message));
    CHECK(op == nullptr);
  }
}

TEST_CASE("options are checked") {
  const Problem problem;
  const Program program(problem);
  const Comms comms(2);
  tilepost_op_t op = nullptr;
  tilepost_options_t options = tilepost_default_options();
  options.host_workers = 257;
  CHECK(tilepost_op_create(comms[0], &program.get(), &options, &op) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("from 0 to 256, got 257"));
  options = tilepost_default_options();
  options.schedule_bytes = GENERATE(int64_t{-1}, (int64_t{1} << 40) + 1);
  CHECK(tilepost_op_create(comms[0], &program.get(), &options, &op) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(),
             Catch::Contains("options.schedule_bytes must be from 0 to 1099511627776, got " +
                             std::to_string(options.schedule_bytes)));
  options = tilepost_default_options();
  options.share_memory = 2;
  CHECK(tilepost_op_create(comms[0], &program.get(), &options, &op) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("share_memory must be 0 or 1, got 2"));
  options = tilepost_default_options();
  options.deadline_seconds = -1;
  CHECK(tilepost_op_create(comms[0], &program.get(), &options, &op) == TILEPOST_INVALID_ARGUMENT);
  CHECK(op == nullptr);
}

TEST_CASE("options of earlier versions are taken, and of no other size") {
  const Problem problem;
  const Program program(problem);
  const Comms comms(2);
  // Memory behind an earlier version's structure belongs to the caller and is not read.
  tilepost_options_t options = tilepost_default_options();
  options.schedule_bytes = -1;
  options.struct_size = offsetof(tilepost_options_t, schedule_bytes);
  CHECK(options.struct_size == 24);
  tilepost_op_t op = nullptr;
  CHECK(tilepost_op_create(comms[0], &program.get(), &options, &op) == TILEPOST_OK);
  CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
  options.schedule_bytes = 0;
  options.routing = reinterpret_cast<tilepost_expert_routing*>(&options);
  options.struct_size = offsetof(tilepost_options_t, routing);
  CHECK(options.struct_size == 32);
  CHECK(tilepost_op_create(comms[0], &program.get(), &options, &op) == TILEPOST_OK);
  CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
  for (const size_t size : {size_t{0}, size_t{8}, size_t{16}, size_t{28}, size_t{48}}) {
    options.struct_size = size;
    CHECK(tilepost_op_create(comms[0], &program.get(), &options, &op) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("options.struct_size is " + std::to_string(size) + ", expected 40"));
    CHECK(op == nullptr);
  }
}

TEST_CASE("operands of earlier versions are taken, and of no other size") {
  Problem problem;
  problem.ranks = 1;
  std::mt19937_64 random(1);
  Data data(problem, false, random);
  const Program program(problem);
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  tilepost_run_operands_t operands = {};
  operands.a = data.a[0].data();
  operands.b = data.b[0].data();
  operands.out = data.out[0].data();
  operands.m = -7;  // behind the structure of the first version
  operands.struct_size = offsetof(tilepost_run_operands_t, m);
  CHECK(operands.struct_size == 64);
  CHECK(tilepost_op_run_with(ops[0], &operands, nullptr) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_OK);
  CHECK(data.compare(program) == "");
  for (const size_t size : {size_t{0}, size_t{56}, size_t{72}, size_t{152}}) {
    operands.struct_size = size;
    CHECK(tilepost_op_run_with(ops[0], &operands, nullptr) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains("operands.struct_size is " +
                                                      std::to_string(size) + ", expected 144"));
  }
}
