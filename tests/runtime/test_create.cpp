// Making communicators and operations: what is accepted, what is refused and how, and that a
// failure at any call leaves nothing behind.
#include <cstdlib>

#include "runtime/cuda/op/select.h"
#include "tests/catch.h"
#include "tests/runtime/sample.h"

using Catch::Contains;
using fakes::world;
using sample::Program;
using sample::Setup;

namespace {

// What a failing create says; checks that nothing is left.
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

}  // namespace

TEST_CASE("an operation is made and released without a trace") {
  fakes::reset();
  {
    Program program;
    Setup setup;
    REQUIRE(setup.create(program) == TILEPOST_OK);
    CHECK(world().max_ctas == 16);
    CHECK(world().cluster_size == 1);
    tilepost_op_info_t info{};
    REQUIRE(tilepost_op_get_info(setup.op, &info) == TILEPOST_OK);
    CHECK(info.plan == &program.plan);
    CHECK(info.rank == 1);
    CHECK(info.out_elements == 512 * 256);
    CHECK(info.rows == nullptr);
    CHECK(info.device_bytes > 0);
    CHECK(std::string(tilepost_op_warnings(setup.op)).empty());
  }
  CHECK(world().live() == 0);
}

TEST_CASE("the tile layout kept tells the caller where each tile is") {
  fakes::reset();
  Program program;
  program.plan.map.m = 400;  // 4 tile rows, the last one ragged
  program.use_tiles(TILEPOST_CONSUMER_NONE);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  tilepost_op_info_t info{};
  REQUIRE(tilepost_op_get_info(setup.op, &info) == TILEPOST_OK);
  CHECK(info.out_elements == 8 * 128 * 128);
  REQUIRE(info.rows != nullptr);
  for (const tilepost_tile_t& tile : program.map.tiles)
    CHECK(info.rows[tile.m / 128 * 2 + tile.n / 128] ==
          tile.row);  // the fake's device memory is readable
}

TEST_CASE("every call of create can fail, cleanly") {
  const int kind = GENERATE(0, 1, 2);
  const auto create_with_failure_at = [&](int call) {
    fakes::reset();
    Program program;
    if (kind == 1) program.use_tiles(TILEPOST_CONSUMER_UNPERMUTE);
    if (kind == 2) {
      program.use_sm80();
      program.plan.wait = TILEPOST_WAIT_STREAM;
    }
    world().fail_at = call;
    Setup setup;
    const auto result = setup.create(program);
    INFO("call " << call << ": " << world().failed_call << ": " << tilepost_last_error());
    CHECK((result == TILEPOST_OK) == (setup.op != nullptr));
    CHECK((result == TILEPOST_OK) == (world().failed_call.empty()));
    if (result != TILEPOST_OK) CHECK_THAT(tilepost_last_error(), Contains("runtime/cuda/"));
    return world().calls;
  };
  const int calls = create_with_failure_at(0);
  REQUIRE(calls > 50);
  for (int n = 1; n <= calls; ++n) {
    create_with_failure_at(n);
    INFO("call " << n << ": " << world().failed_call);
    REQUIRE(world().live() == 0);
  }
}

TEST_CASE("a plan that does not fit is refused with the value and the bound") {
  fakes::reset();
  Program program;
  SECTION("another number of ranks") {
    program.plan.ranks = 4;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT),
               Contains("generated for 4 ranks, the communicator has 2"));
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
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT), Contains("do not cover"));
  }
  SECTION("an incomplete kernel") {
    program.plan.kernel.function = nullptr;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT), Contains("incomplete"));
  }
  SECTION("a transport of another target") {
    program.plan.transport = TILEPOST_TRANSPORT_HOST;
    CHECK_THAT(refusal(program, TILEPOST_UNSUPPORTED), Contains("none, nccl"));
  }
  SECTION("no driver") {
    world().has_driver = false;
    CHECK_THAT(refusal(program, TILEPOST_CUDA_ERROR), Contains("cudaGetDriverEntryPoint"));
  }
  SECTION("another ABI") {
    program.program.abi_version += 1;
    CHECK_THAT(refusal(program, TILEPOST_INVALID_ARGUMENT), Contains("ABI"));
  }
  CHECK(world().aborted_comms == 0);
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

TEST_CASE("the highest architecture that serves the device is taken") {
  fakes::reset();
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

TEST_CASE("adopting a communicator") {
  fakes::reset();
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
  CHECK(world().live() == 0);
}

TEST_CASE("ranks out of range are refused") {
  fakes::reset();
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

TEST_CASE("variables that override the plan are reported") {
  fakes::reset();
  setenv("NCCL_MAX_CTAS", "4", 1);
  setenv("NCCL_CGA_CLUSTER_SIZE", "4", 1);
  Program program;
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  unsetenv("NCCL_MAX_CTAS");
  unsetenv("NCCL_CGA_CLUSTER_SIZE");
  CHECK_THAT(tilepost_op_warnings(setup.op),
             Contains("NCCL_MAX_CTAS=4 overrides the plan (16 communication CTAs") &&
                 Contains("NCCL_CGA_CLUSTER_SIZE=4"));
  CHECK(std::string(tilepost_op_warnings(nullptr)).empty());
}

TEST_CASE("operations of the same budget share a communicator") {
  fakes::reset();
  {
    Program program;
    Setup setup;
    REQUIRE(setup.create(program) == TILEPOST_OK);
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
  CHECK(world().live() == 0);
}

TEST_CASE("transport none makes a communicator with NCCL's own budget") {
  fakes::reset();
  Program program;
  program.use_sequence(4);
  program.plan.gemm_ctas = 132;
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  CHECK(world().max_ctas != 16);
  CHECK(world().cluster_size != 1);
}
