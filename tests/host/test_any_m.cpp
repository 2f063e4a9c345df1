// The schedules that an operation for any m keeps, and the errors of ranks with other rows.
#include <malloc.h>

#include "tests/catch.h"
#include "tests/host/problem.h"

namespace {

constexpr int64_t kMost = 4001;
constexpr int64_t kScheduleBytes = int64_t{1} << 20;

int64_t bytes_of_op(tilepost_op_t op) {
  tilepost_op_info_t info{};
  REQUIRE(tilepost_op_get_info(op, &info) == TILEPOST_OK);
  return info.device_bytes;
}

}  // namespace

TEST_CASE("runs with 4001 numbers of rows take no more memory than schedules may have") {
  Problem problem;
  problem.any_m = true;
  problem.ranks = 1;
  problem.transport = TILEPOST_TRANSPORT_NONE;
  problem.m = kMost;
  problem.n = 8;
  problem.k = 1;
  const Program program(problem);
  const Comms comms(1);
  tilepost_options_t options = tilepost_default_options();
  options.schedule_bytes = kScheduleBytes;
  tilepost_op_t op = nullptr;
  REQUIRE(tilepost_op_create(comms[0], &program.get(), &options, &op) == TILEPOST_OK);
  const int64_t before = bytes_of_op(op);
  const auto heap = static_cast<int64_t>(mallinfo2().uordblks);
  std::vector<uint16_t> a(kMost), b(8), out(kMost * 8);
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.out = out.data();
  int64_t most = 0;
  for (operands.m = 1; operands.m <= kMost; ++operands.m) {
    REQUIRE(tilepost_op_run_with(op, &operands, nullptr) == TILEPOST_OK);
    most = std::max(most, bytes_of_op(op) - before);
  }
  REQUIRE(tilepost_op_synchronize(op) == TILEPOST_OK);
  CHECK(most <= kScheduleBytes);
  CHECK(most > kScheduleBytes - 20000);  // schedules are kept up to the bound
  // By the allocator's count no other memory keeps schedules. Sanitizers have allocators of their
  // own.
  CHECK(static_cast<int64_t>(mallinfo2().uordblks) - heap < 2 * kScheduleBytes);
  CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
}

// With few rows, a second collective costs more latency than overlap saves.
TEST_CASE("a rank whose rows make it overlap is told from one that runs in sequence") {
  Problem problem;
  problem.any_m = true;
  problem.m = 512;
  Program program(problem);
  tilepost_model_t& model = program.plan().model;
  model.wave = model.sequence_wave = 10;
  model.latency = 40;
  model.sequence_ctas = 2;
  std::mt19937_64 random(8);
  Data data(problem, false,
            random);  // it outlives the operations, because a run that has failed may still read it
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  bool started[2] = {};
  for (int rank = 0; rank < 2; ++rank) {
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = data.a[rank].data();
    operands.b = data.b[rank].data();
    operands.out = data.out[rank].data();
    operands.m = rank == 0 ? 512 : 16;
    started[rank] = tilepost_op_run_with(ops[rank], &operands, nullptr) == TILEPOST_OK;
  }
  REQUIRE(started[0]);
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(tilepost_op_synchronize(ops[rank]) ==
          (started[rank] ? TILEPOST_INVALID_ARGUMENT : TILEPOST_ABORTED));
    CHECK_THAT(tilepost_last_error(), Catch::Contains("run 1 of 'hand_woven': m is ") &&
                                          Catch::Contains("rank 1 runs in sequence") &&
                                          Catch::Contains("rank 0 overlaps") &&
                                          Catch::Contains("pass the same m on every rank"));
  }
}
