// What an operation for any m keeps of its schedules.
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
  CHECK(most > kScheduleBytes - 20000);  // and they are kept up to there
  // What the allocator says: nothing else keeps them. Sanitizers have allocators of their own.
  CHECK(static_cast<int64_t>(mallinfo2().uordblks) - heap < 2 * kScheduleBytes);
  CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
}
