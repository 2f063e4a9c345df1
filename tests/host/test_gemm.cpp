// Pattern gemm and epilogues on the host target: ranks that do not need each other, and the
// operands that a kernel gets.
#include <mutex>

#include "tests/catch.h"
#include "tests/host/problem.h"

namespace {

tilepost_epilogue_t seen;  // the epilogue of the last call of record_epilogue
std::mutex seen_mutex;     // two ranks may call it at once

void record_epilogue(const void*, const void*, void*, tilepost_shape_t,
                     tilepost_epilogue_t epilogue, int worker, int workers, tilepost_view_t view) {
  if (worker == 0) {
    const std::lock_guard lock(seen_mutex);
    seen = epilogue;
  }
  for (int position = worker; position < view.num_tiles; position += workers)
    __atomic_fetch_add(
        view.counters + int64_t{view.tiles[position].group} * TILEPOST_COUNTER_STRIDE, 1u,
        __ATOMIC_RELEASE);
}

// The operands of one rank. `skew`: how many bytes they lie behind an alignment of 16 bytes.
struct Operands {
  alignas(16) uint16_t matrices[3][64 * 64] = {};
  alignas(16) float scales[2][64] = {};
  alignas(16) uint16_t addends[2][64 * 64] = {};
  tilepost_run_operands_t all() {
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = matrices[0];
    operands.b = matrices[1];
    operands.out = matrices[2];
    operands.scale_a = scales[0];
    operands.scale_b = scales[1];
    operands.bias = addends[0];
    operands.residual = addends[1];
    return operands;
  }
};

Problem small_problem(int ranks) {
  Problem problem;
  problem.pattern = TILEPOST_GEMM;
  problem.transport = TILEPOST_TRANSPORT_NONE;
  problem.ranks = ranks;
  problem.m = problem.n = problem.k = 20;
  return problem;
}

}  // namespace

TEST_CASE("a rank alone gets its own product, whatever the size of the communicator") {
  Problem problem = small_problem(3);
  problem.layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  problem.consumer =
      problem.layout == TILEPOST_TILE ? TILEPOST_CONSUMER_UNPERMUTE : TILEPOST_CONSUMER_NONE;
  std::mt19937_64 random(3);
  Data data(problem, false, random);
  Program program(problem);
  program.plan().ranks = GENERATE(1, 3, 64);
  const Comms comms(3);
  tilepost_op_t op = nullptr;
  REQUIRE(tilepost_op_create(comms[2], &program.get(), nullptr, &op) == TILEPOST_OK);
  REQUIRE(tilepost_op_run(op, data.a[2].data(), data.b[2].data(), data.out[2].data(), nullptr) ==
          TILEPOST_OK);
  REQUIRE(tilepost_op_synchronize(op) == TILEPOST_OK);
  const auto expected =
      reference::gemm(problem.type, data.a[2], data.b[2], problem.m, problem.n, problem.k, false);
  int wrong = 0;
  for (size_t i = 0; i < expected.size(); ++i) wrong += data.out[2][i] != expected[i];
  CHECK(wrong == 0);
  CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
}

TEST_CASE("the kernel gets what its epilogue reads") {
  const int epilogue = GENERATE(0, TILEPOST_SCALE, TILEPOST_SCALE_ROWS, TILEPOST_SCALE_COLUMNS,
                                TILEPOST_BIAS | TILEPOST_GELU, TILEPOST_RESIDUAL,
                                TILEPOST_SCALE | TILEPOST_BIAS | TILEPOST_RESIDUAL);
  Program program(small_problem(1));
  program.plan().epilogue = epilogue;
  program.plan().kernel.host_function = record_epilogue;
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  Operands operands;
  const tilepost_run_operands_t all = operands.all();
  REQUIRE(tilepost_op_run_with(ops[0], &all, nullptr) == TILEPOST_OK);
  REQUIRE(tilepost_op_synchronize(ops[0]) == TILEPOST_OK);
  const auto reads = [&](int operations) { return (epilogue & operations) != 0; };
  CHECK(seen.scale_a == (reads(TILEPOST_SCALE | TILEPOST_SCALE_ROWS) ? all.scale_a : nullptr));
  CHECK(seen.scale_b == (reads(TILEPOST_SCALE | TILEPOST_SCALE_COLUMNS) ? all.scale_b : nullptr));
  CHECK(seen.bias == (reads(TILEPOST_BIAS) ? all.bias : nullptr));
  CHECK(seen.residual == (reads(TILEPOST_RESIDUAL) ? all.residual : nullptr));
}

TEST_CASE("user data that is missing or misaligned is named") {
  constexpr const char* kNames[] = {"user.scales", "user.zeros"};
  Program program(small_problem(1));
  program.plan().kernel.user = kNames;
  program.plan().kernel.num_user = 2;
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  Operands operands;
  tilepost_run_operands_t run = operands.all();
  const auto check = [&](const char* message) {
    CHECK(tilepost_op_run_with(ops[0], &run, nullptr) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains(message));
  };
  check("user.scales is null, but the plan's kernel reads it; pass it to tilepost_op_run_with");
  CHECK(tilepost_op_run(ops[0], run.a, run.b, run.out, nullptr) == TILEPOST_INVALID_ARGUMENT);
  alignas(16) char memory[32];
  void* user[] = {memory, nullptr};
  run.user = user;
  check("user.zeros is null");
  user[1] = memory + 8;
  check("user.zeros must be a multiple of 16 bytes");
  user[1] = memory + 16;
  CHECK(tilepost_op_run_with(ops[0], &run, nullptr) == TILEPOST_OK);
  user[1] = nullptr;  // the call has read it
  CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_OK);
}

TEST_CASE("operands that are missing or misaligned are named") {
  Program program(small_problem(1));
  program.plan().epilogue =
      TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS | TILEPOST_BIAS | TILEPOST_RESIDUAL;
  program.plan().kernel.host_function = record_epilogue;
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  Operands operands;
  const auto skewed = [](auto* pointer, int bytes) {
    return reinterpret_cast<decltype(pointer)>(reinterpret_cast<uintptr_t>(pointer) + bytes);
  };
  const tilepost_run_operands_t good = operands.all();
  const auto check = [&](tilepost_run_operands_t bad, const char* message) {
    CHECK(tilepost_op_run_with(ops[0], &bad, nullptr) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains(message));
  };
  tilepost_run_operands_t bad = good;
  bad.scale_a = nullptr;
  check(bad, "scale_a is null, but the plan's epilogue reads it; pass it to tilepost_op_run_with");
  bad = good;
  bad.scale_b = nullptr;
  check(bad, "scale_b is null");
  bad = good;
  bad.bias = nullptr;
  check(bad, "bias is null");
  bad = good;
  bad.residual = nullptr;
  check(bad, "residual is null");
  bad = good;
  bad.scale_a = skewed(bad.scale_a, 2);
  check(bad, "scale_a must be a multiple of 4 bytes");
  bad = good;
  bad.bias = skewed(bad.bias, 8);
  check(bad, "bias must be a multiple of 16 bytes");
  CHECK(tilepost_op_run(ops[0], good.a, good.b, good.out, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("pass it to tilepost_op_run_with"));
  CHECK(tilepost_op_run_with(ops[0], &good, nullptr) == TILEPOST_OK);
}

TEST_CASE("operands that lie over what the run writes are refused") {
  Program program(small_problem(1));
  program.plan().epilogue = TILEPOST_SCALE_ROWS | TILEPOST_BIAS | TILEPOST_RESIDUAL;
  program.plan().kernel.host_function = record_epilogue;
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  Operands operands;
  const tilepost_run_operands_t good = operands.all();
  char* const out = static_cast<char*>(good.out);
  constexpr int kBytes = 20 * 20 * 2;  // of out, and of a, b and residual
  const auto refused = [&](const tilepost_run_operands_t& bad, const char* message) {
    CHECK(tilepost_op_run_with(ops[0], &bad, nullptr) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains(message));
  };
  for (const int place : {0, 16 - kBytes, kBytes - 16}) {
    tilepost_run_operands_t bad = good;
    bad.a = out + place;
    refused(bad, ", which the run reads while it writes out; pass memory of its own");
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("out at 0x") && Catch::Contains(" overlaps a at "));
    bad = good;
    if (place < 0) continue;  // how long b is, only a kernel of the host target knows
    bad.b = out + place;
    refused(bad, " overlaps b at ");
  }
  tilepost_run_operands_t bad = good;
  bad.bias = out + kBytes - 16;
  refused(bad, " overlaps bias at ");
  bad = good;
  bad.scale_a = reinterpret_cast<const float*>(out + 4);
  refused(bad, " overlaps scale_a at ");
  bad = good;
  bad.residual = out + 16;
  refused(bad, "pass the residual itself, or memory of its own");

  tilepost_run_operands_t fine = good;
  fine.residual = fine.out;  // the thread that writes an element reads it
  fine.a = fine.b = out + kBytes;
  fine.bias = out - 48;
  CHECK(tilepost_op_run_with(ops[0], &fine, nullptr) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_OK);
}

TEST_CASE("the output may be the residual only where the product stays in its place") {
  Problem problem = small_problem(1);
  SECTION("of rows that go to other ranks") {
    problem.pattern = TILEPOST_GEMM_ALL_TO_ALL;
    problem.transport = TILEPOST_TRANSPORT_HOST;
  }
  SECTION("of tiles in slots") {
    problem.layout = TILEPOST_TILE;
  }
  Program program(problem);
  program.plan().epilogue = TILEPOST_RESIDUAL;
  program.plan().kernel.host_function = record_epilogue;
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  Operands operands;
  tilepost_run_operands_t bad = operands.all();
  bad.residual = bad.out;
  CHECK(tilepost_op_run_with(ops[0], &bad, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("overlaps residual at") &&
                                        Catch::Contains("writes out; pass memory of its own"));
}

TEST_CASE("8-bit inputs are aligned like all others") {
  Program program(small_problem(1));
  program.plan().input = TILEPOST_E4M3;
  program.plan().kernel.host_function = record_epilogue;
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  Operands operands;
  const char* a = reinterpret_cast<const char*>(operands.matrices[0]);
  CHECK(tilepost_op_run(ops[0], a, a, operands.matrices[2], nullptr) == TILEPOST_OK);
  CHECK(tilepost_op_run(ops[0], a + 1, a, operands.matrices[2], nullptr) ==
        TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE("where ranks are summed only rank 0 adds the bias") {
  Problem problem = small_problem(2);
  problem.pattern = TILEPOST_GEMM_ALL_REDUCE;
  Program program(problem);
  program.plan().epilogue = TILEPOST_BIAS;
  program.plan().kernel.host_function = record_epilogue;
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  Operands first, second;
  tilepost_run_operands_t without = second.all();
  without.bias = nullptr;
  const tilepost_run_operands_t with = first.all();
  CHECK(tilepost_op_run_with(ops[0], &without, nullptr) == TILEPOST_INVALID_ARGUMENT);
  REQUIRE(tilepost_op_run_with(ops[0], &with, nullptr) == TILEPOST_OK);
  REQUIRE(tilepost_op_run_with(ops[1], &without, nullptr) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(ops[1]) == TILEPOST_OK);
}
