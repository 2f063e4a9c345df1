// Making communicators and operations, from C and from C++: what is accepted, what is refused with
// which error, and that a failure of any call leaves nothing behind.
#include <cstdlib>

#include "runtime/cuda/op/select.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tests/runtime/ranks.h"
#include "tilepost/tilepost.hpp"

using Catch::Contains;
using fakes::world;
using sample::Program;
using sample::Setup;

namespace {

// The error of a create that must fail. Checks that nothing is left.
std::string refusal(const Program& program, tilepost_result_t expected) {
  std::string text;
  {
    Setup setup;
    const auto result = setup.create(program);
    text = tilepost_last_error();
    CHECK(std::string(tilepost_result_name(result)) == tilepost_result_name(expected));
    CHECK(setup.op == nullptr);
  }
  CHECK(world().live() == 0);
  return text;
}

// A plan for ranks that access each other's memory, and a change that makes it impossible.
struct Change {
  ranks::Way way;
  const char* what;
  const char* refusal;
  void (*make)(tilepost_plan_t& plan);
};
constexpr ranks::Way kStores = ranks::stores(TILEPOST_GEMM_REDUCE_SCATTER);
constexpr ranks::Way kTasks = ranks::tasks(TILEPOST_GEMM_REDUCE_SCATTER);
constexpr ranks::Way kGatherTasks = ranks::tasks(TILEPOST_ALL_GATHER_GEMM);
constexpr ranks::Way kPushedRows = ranks::pushed_rows();
const Change kChanges[] = {
    {kStores, "reads", "access is 1, expected 2 with transport 5",
     [](auto& plan) { plan.access = TILEPOST_ACCESS_READ; }},
    {kStores, "messages", "access is 0, expected 2 with transport 5",
     [](auto& plan) { plan.access = TILEPOST_ACCESS_MESSAGES; }},
    {kStores, "by rows", "division is 0, expected shares",
     [](auto& plan) { plan.map.division = TILEPOST_DIVISION_ROWS; }},
    {kStores, "tiles", "layout is 1, expected panel",
     [](auto& plan) { plan.map.layout = TILEPOST_TILE; }},
    {kStores, "a map of one rank", "number of shares is 1, expected 2",
     [](auto& plan) { plan.map.ranks = 1; }},
    {kStores, "five lanes", "comm_lanes is 5, expected at most 4",
     [](auto& plan) { plan.comm_lanes = 5; }},
    {kStores, "4096 groups", "number of groups is 4096, expected at most 4095",
     [](auto& plan) { plan.map.num_groups = 4096; }},
    {kStores, "a pace below 0", "pace is -1", [](auto& plan) { plan.pace = -1; }},
    {kStores, "pointers", "kernel.launch is 1",
     [](auto& plan) { plan.kernel.launch = TILEPOST_LAUNCH_POINTERS; }},
    {kStores, "sums on their way for any m", "sum is 1, expected staged",
     [](auto& plan) {
       plan.sum = TILEPOST_SUM_ADDED;
       plan.any_m = 1;
       plan.model.sequence_ctas = 132;
     }},
    {kStores, "splits", "routing is 1, expected even",
     [](auto& plan) {
       plan.pattern = TILEPOST_GEMM_ALL_TO_ALL;
       plan.routing = TILEPOST_ROUTING_SPLITS;
     }},
    {kTasks, "sums of 32 bits", "output type is 3, expected one of 16 bits",
     [](auto& plan) { plan.output = TILEPOST_F32; }},
    {kTasks, "one part", "task_parts is 1, expected 0, or 2",
     [](auto& plan) { plan.task_parts = 1; }},
    {kTasks, "parts below 0", "task_parts is -1, expected 0, or 2",
     [](auto& plan) { plan.task_parts = -1; }},
    {kTasks, "sums on their way", "sum is 1, expected staged",
     [](auto& plan) { plan.sum = TILEPOST_SUM_ADDED; }},
    {kTasks, "no buffers", "kernel.helper_bytes is 0",
     [](auto& plan) { plan.kernel.helper_bytes = 0; }},
    {kTasks, "more than there is", "kernel.helper_bytes is 250000",
     [](auto& plan) { plan.kernel.helper_bytes = 250000; }},
    {kTasks, "rows of 40 bytes", "row of tasks in bytes is 40",
     [](auto& plan) { plan.map.n = 20; }},
    {kTasks, "pushes", "pushes is 1", [](auto& plan) { plan.pushes = 1; }},
    {kTasks, "copy engines", "access is 1",
     [](auto& plan) {
       plan.transport = TILEPOST_TRANSPORT_COPY_ENGINE;
       plan.access = TILEPOST_ACCESS_READ;
     }},
    {kGatherTasks, "two parts", "task_parts is 2, expected 0, or 1",
     [](auto& plan) { plan.task_parts = 2; }},
    {kGatherTasks, "rows of 24 bytes", "row of tasks in bytes is 24",
     [](auto& plan) { plan.k = 12; }},
    {kGatherTasks, "no buffers", "kernel.helper_bytes is 0",
     [](auto& plan) { plan.kernel.helper_bytes = 0; }},
    {kGatherTasks, "pointers", "kernel.launch is 1",
     [](auto& plan) { plan.kernel.launch = TILEPOST_LAUNCH_POINTERS; }},
    {kGatherTasks, "messages", "round_robin is 1",
     [](auto& plan) {
       plan.transport = TILEPOST_TRANSPORT_NCCL;
       plan.access = TILEPOST_ACCESS_MESSAGES;
     }},
    {kPushedRows, "no pushes", "pushes is 0, expected 1", [](auto& plan) { plan.pushes = 0; }},
    {kPushedRows, "no tasks", "task_parts is 0, expected 1",
     [](auto& plan) { plan.task_parts = 0; }},
    {kPushedRows, "two parts", "task_parts is 2, expected 0, or 1",
     [](auto& plan) { plan.task_parts = 2; }},
    {kPushedRows, "rows of 24 bytes", "row of tasks in bytes is 24",
     [](auto& plan) { plan.k = 12; }},
    {kPushedRows, "no buffers", "kernel.helper_bytes is 0",
     [](auto& plan) { plan.kernel.helper_bytes = 0; }},
};

}  // namespace

TEST_CASE_METHOD(Operation, "an operation is made and released without a trace") {
  create();
  CHECK(world().max_ctas == 16);
  CHECK(world().cluster_size == 1);
  const tilepost_op_info_t made = info();
  CHECK(made.plan == &program.plan);
  CHECK(made.rank == 1);
  CHECK(made.out_elements == 512 * 256);
  CHECK(made.rows == nullptr);
  CHECK(made.device_bytes > 0);
  CHECK(std::string(tilepost_op_warnings(setup.op)).empty());
}

// The send buffer holds the whole product. All other memory is the same for every type.
TEST_CASE("an operation's own memory has room for its output's type") {
  const auto bytes_with = [](tilepost_dtype_t type) {
    Operation operation;
    operation.program.use(kReduceScatter, 2, TILEPOST_DIVISION_SHARES, {1, 2});
    operation.program.plan.output = type;
    operation.create();
    return operation.info().device_bytes;
  };
  const int64_t bytes = bytes_with(TILEPOST_BF16), elements = 512 * 256;
  CHECK(bytes >= elements * 2);
  CHECK(bytes_with(TILEPOST_F32) - bytes == elements * (4 - 2));
}

TEST_CASE_METHOD(Operation, "the tile layout kept tells the caller where each tile is") {
  program.plan.map.m = 400;  // 4 tile rows, the last one ragged
  program.use_tiles(TILEPOST_CONSUMER_NONE);
  create();
  const tilepost_op_info_t made = info();
  CHECK(made.out_elements == 8 * 128 * 128);
  REQUIRE(made.rows != nullptr);
  for (const tilepost_tile_t& tile : program.map.tiles)
    CHECK(made.rows[tile.m / 128 * 2 + tile.n / 128] ==
          tile.row);  // the host can read device memory of the fakes
}

TEST_CASE("every call of create can fail, cleanly") {
  const int kind = GENERATE(0, 1, 2);
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    if (kind == 1) op.program.use_tiles(TILEPOST_CONSUMER_UNPERMUTE);
    if (kind == 2) {
      op.program.use_sm80();
      op.program.plan.wait = TILEPOST_WAIT_STREAM;
    }
    check_failing_create(failing, op);
  });
  REQUIRE(failing.calls() > 50);
}

TEST_CASE_METHOD(OnFakes, "a plan that does not fit is refused with the value and the bound") {
  Program program;
  SECTION("another number of ranks") {
    program.plan.ranks = 4;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT),
               Contains("planned for 4 ranks, the communicator has 2"));
  }
  SECTION("too few SMs") {
    world().sms = 24;
    CHECK_THAT(refusal(program, TILEPOST_UNSUPPORTED),
               Contains("needs 25 SMs") && Contains("has 24"));
  }
  SECTION("just enough SMs") {
    world().sms = 25;
    Setup setup;
    CHECK(setup.create(program) == TILEPOST_OK);
    CHECK_THAT(tilepost_op_warnings(setup.op), Contains("made for 132 SMs") && Contains("has 25"));
  }
  SECTION("another GPU than the machine's that was planned for") {
    Setup setup, same;
    program.plan.machine = "8 x X900";
    program.plan.gpu = "X900";
    CHECK(setup.create(program) == TILEPOST_OK);
    CHECK_THAT(tilepost_op_warnings(setup.op),
               Contains("made for the machine '8 x X900', whose GPUs are 'X900'"));
    program.plan.gpu = "";  // is part of every name
    CHECK(same.create(program) == TILEPOST_OK);
    CHECK(std::string(tilepost_op_warnings(same.op)).empty());
  }
  SECTION("too little shared memory") {
    world().max_shared_bytes = 100000;
    CHECK_THAT(refusal(program, TILEPOST_UNSUPPORTED), Contains("200000") && Contains("100000"));
  }
  SECTION("too many threads") {
    world().max_threads = 256;
    CHECK_THAT(refusal(program, TILEPOST_UNSUPPORTED), Contains("384") && Contains("256"));
  }
  SECTION("a grid that cannot be resident") {
    world().blocks_per_sm = 0;
    CHECK_THAT(refusal(program, TILEPOST_UNSUPPORTED), Contains("8 CTAs at once"));
  }
  SECTION("another architecture") {
    world().compute_major = 8;
    CHECK_THAT(refusal(program, TILEPOST_UNSUPPORTED),
               Contains("generated for sm_90a") && Contains("sm_80"));
  }
  SECTION("another tile map") {
    program.plan.map_hash ^= 1;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT), Contains("regenerate"));
  }
  SECTION("cuts that do not cover the output") {
    program.cuts[1] = 3;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT),
               Contains("do not increase up to the end of the schedule"));
  }
  SECTION("a kernel that is not there") {
    program.plan.kernel.function = nullptr;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT), Contains("the plan has no kernel"));
  }
  SECTION("a transport of another target") {
    program.plan.transport = TILEPOST_TRANSPORT_HOST;
    CHECK_THAT(refusal(program, TILEPOST_UNSUPPORTED), Contains("none, nccl"));
  }
  SECTION("no driver") {
    world().has_driver = false;
    CHECK_THAT(refusal(program, TILEPOST_CUDA_ERROR), Contains("cudaGetDriverEntryPoint"));
  }
  SECTION("fewer communication CTAs than lanes") {
    program.plan.comm_ctas = 1;
    program.plan.comm_lanes = 2;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT),
               Contains("comm_ctas is 1, expected 2 or more"));
  }
  SECTION("32 bits for a consumer") {
    program.use_tiles(TILEPOST_CONSUMER_UNPERMUTE);
    program.plan.output = TILEPOST_F32;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT),
               Contains("output type is 3, expected one of 16 bits"));
  }
  SECTION("another ABI") {
    program.program.abi_version += 1;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT), Contains("ABI"));
  }
  CHECK(world().aborted_comms == 0);
}

TEST_CASE("shared: plans that cannot be are refused") {
  for (const ranks::Way& way : {kStores, kTasks, kGatherTasks, kPushedRows}) {
    CAPTURE(way);
    Operation op;
    ranks::use(op.program, way, 2, 64);
    CHECK(op.setup.create(op.program) == TILEPOST_OK);
  }
  for (const Change& change : kChanges) {
    CAPTURE(change.way, change.what);
    Operation op;
    ranks::use(op.program, change.way, 2, 64);
    change.make(op.program.plan);
    CHECK(op.setup.create(op.program) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(change.refusal));
  }
}

TEST_CASE("architectures: 90 is exact, the others serve every later GPU") {
  using tilepost::cuda::serves;
  CHECK(serves(90, 90));
  CHECK_FALSE(serves(90, 100));
  CHECK_FALSE(serves(90, 80));
  CHECK(serves(80, 80));
  CHECK(serves(80, 86));
  CHECK(serves(86, 89));
  CHECK_FALSE(serves(86, 80));
  CHECK(serves(80, 90));
  CHECK(serves(89, 100));
}

TEST_CASE_METHOD(OnFakes, "the highest architecture that serves the device is taken") {
  Program low, high;
  low.use_sm80();
  high.use_sm80();
  high.plan.kernel.arch = 86;
  const tilepost_plan_t plans[] = {high.plan, low.plan};
  const tilepost_program_t both{TILEPOST_ABI_VERSION, "both", 2, plans};
  tilepost::cuda::DeviceInfo device;
  const tilepost_plan_t* plan = nullptr;
  device.sm = 89;
  REQUIRE(tilepost::cuda::select_plan(both, device, plan) == TILEPOST_OK);
  CHECK(plan == &plans[0]);
  device.sm = 80;
  REQUIRE(tilepost::cuda::select_plan(both, device, plan) == TILEPOST_OK);
  CHECK(plan == &plans[1]);
}

TEST_CASE_METHOD(OnFakes, "adopting a communicator") {
  int nccl = 0;
  auto* handle = reinterpret_cast<ncclComm*>(&nccl);
  tilepost_comm_t comm = nullptr;
  SECTION("takes its rank and size, and leaves it alone") {
    REQUIRE(tilepost_comm_adopt(handle, &comm) == TILEPOST_OK);
    Program program;
    tilepost_op_t op = nullptr;
    REQUIRE(tilepost_op_create(comm, &program.program, nullptr, &op) == TILEPOST_OK);
    tilepost_op_destroy(op);
    tilepost_comm_destroy(comm);
    CHECK(world().aborted_comms == 0);
  }
  SECTION("of another size is refused by create") {
    world().comm_ranks = 3;
    REQUIRE(tilepost_comm_adopt(handle, &comm) == TILEPOST_OK);
    Program program;
    tilepost_op_t op = nullptr;
    CHECK(tilepost_op_create(comm, &program.program, nullptr, &op) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("2 ranks, the communicator has 3"));
    tilepost_comm_destroy(comm);
  }
  SECTION("of another device is refused") {
    world().comm_device = 1;
    CHECK(tilepost_comm_adopt(handle, &comm) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("device 1, the current device is 0"));
    CHECK(comm == nullptr);
  }
  SECTION("null is refused") {
    CHECK(tilepost_comm_adopt(nullptr, &comm) == TILEPOST_INVALID_ARGUMENT);
    CHECK(tilepost_comm_adopt(handle, nullptr) == TILEPOST_INVALID_ARGUMENT);
  }
}

TEST_CASE_METHOD(OnFakes, "ranks out of range are refused") {
  tilepost_unique_id_t id{};
  tilepost_comm_t comm = nullptr;
  CHECK(tilepost_get_unique_id(nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_get_unique_id(&id) == TILEPOST_OK);
  CHECK(tilepost_comm_init(nullptr, 0, 2, &comm) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_comm_init(&id, 2, 2, &comm) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("from 0 to 1, got 2"));
  CHECK(tilepost_comm_init(&id, -1, 2, &comm) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_comm_init(&id, 0, 0, &comm) == TILEPOST_INVALID_ARGUMENT);
  CHECK(comm == nullptr);
}

TEST_CASE_METHOD(Operation, "variables that override the plan are reported") {
  setenv("NCCL_MAX_CTAS", "4", 1);
  setenv("NCCL_CGA_CLUSTER_SIZE", "4", 1);
  create();
  unsetenv("NCCL_MAX_CTAS");
  unsetenv("NCCL_CGA_CLUSTER_SIZE");
  CHECK_THAT(tilepost_op_warnings(setup.op),
             Contains("NCCL_MAX_CTAS=4 overrides the plan (16 communication CTAs") &&
                 Contains("NCCL_CGA_CLUSTER_SIZE=4"));
  CHECK(std::string(tilepost_op_warnings(nullptr)).empty());
}

TEST_CASE_METHOD(Operation, "operations of the same budget share a communicator") {
  create();
  const int before = world().live_comms;
  tilepost_op_t second = nullptr, third = nullptr;
  REQUIRE(tilepost_op_create(setup.comm, &program.program, nullptr, &second) == TILEPOST_OK);
  CHECK(world().live_comms == before);
  program.plan.comm_ctas = 8;
  REQUIRE(tilepost_op_create(setup.comm, &program.program, nullptr, &third) == TILEPOST_OK);
  CHECK(world().live_comms == before + 1);
  CHECK(world().max_ctas == 8);
  tilepost_op_destroy(second);
  tilepost_op_destroy(third);
}

TEST_CASE_METHOD(Operation, "transport none makes a communicator with NCCL's own budget") {
  program.use_sequence(4);
  program.plan.gemm_ctas = 132;
  create();
  CHECK(world().max_ctas != 16);
  CHECK(world().cluster_size != 1);
}

TEST_CASE_METHOD(OnFakes, "a rank alone has an operation by every transport that may be alone") {
  const auto transport =
      GENERATE(TILEPOST_TRANSPORT_NONE, TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_NCCL_SYMMETRIC,
               TILEPOST_TRANSPORT_HOST_COPIES);
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll, kAllGather);
  CAPTURE(static_cast<int>(transport), static_cast<int>(pattern));
  Program program;
  const bool rows = pattern == kAllReduce || transport == TILEPOST_TRANSPORT_NONE;
  const auto division = rows                    ? TILEPOST_DIVISION_ROWS
                        : pattern == kAllGather ? TILEPOST_DIVISION_ARRIVALS
                                                : TILEPOST_DIVISION_SHARES;
  const bool arrives = division == TILEPOST_DIVISION_ARRIVALS;
  program.use(pattern, 1, division, arrives ? std::vector{0, 4} : std::vector{4});
  program.plan.transport = transport;
  Setup setup;
  const auto result = setup.create(program, 0, 0);
  INFO(tilepost_last_error());
  REQUIRE(result == TILEPOST_OK);
  const tilepost_run_operands_t values = sample::operands();
  CHECK(tilepost_op_run_with(setup.op, &values, nullptr) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(OnFakes, "owners release what they own, once") {
  sample::Program program;
  tilepost::Comm comm;
  CHECK_FALSE(comm);
  REQUIRE(tilepost::Comm::init({}, 0, 2, comm));
  tilepost::Op op;
  REQUIRE(tilepost::Op::create(comm, &program.program, op));
  tilepost::Op moved = std::move(op);
  CHECK_FALSE(op);
  CHECK(moved.run(sample::pointer(1), sample::pointer(2), sample::pointer(3), nullptr).ok());
  CHECK(moved.synchronize().ok());
  CHECK(std::string(moved.warnings()).empty());
  tilepost_op_info_t info{};
  CHECK(moved.get_info(info).ok());
  op = std::move(moved);
  CHECK(op.status().ok());
}

TEST_CASE_METHOD(OnFakes, "a status carries the text of its error") {
  tilepost::Op empty;
  const tilepost::Status status =
      empty.run(sample::pointer(1), sample::pointer(2), sample::pointer(3), nullptr);
  CHECK_FALSE(status);
  CHECK(status.result() == TILEPOST_INVALID_ARGUMENT);
  CHECK(std::string(status.name()) == "TILEPOST_INVALID_ARGUMENT");
  CHECK_THAT(status.text(), Contains("op is null"));
  tilepost::Comm comm;
  CHECK(tilepost::Comm::init({}, 5, 2, comm).result() == TILEPOST_INVALID_ARGUMENT);
  CHECK_FALSE(comm);
}
