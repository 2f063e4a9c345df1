// Operations whose kernels exchange tiles by themselves, with ranks as threads: their results, what
// is launched, and how runs end when ranks do not do the same.
#include <algorithm>

#include "runtime/cuda/shared/layout.h"
#include "runtime/map/slots.h"
#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/one_kernel.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::last_exchange;
using ranks::Rank;
using ranks::Ranks;
using ranks::use_exchange;
using sample::count_calls;

namespace {

constexpr double kDeadline = 0.2;

const tilepost_shots_t kShots[] = {TILEPOST_ONE_SHOT, TILEPOST_TWO_SHOT, TILEPOST_ONE_SHOT_LINES};

tilepost_shots_t any_shots() {
  return GENERATE(from_range(std::begin(kShots), std::end(kShots)));
}

// Checks that the runs were `kernels` kernels, with none of the calls that other runs in shared
// memory make before and behind their kernels.
void check_nothing_beside(int kernels) {
  CHECK(count_calls("gemm ") == kernels);
  for (const char* call : {"shared_begin", "shared_end", "announce", "wait_", "sum ", "replay",
                           "cudaMemset", "cudaMemcpyAsync user"})
    CHECK(count_calls(call) == 0);
  CHECK(world().nccl.empty());
}

}  // namespace

TEST_CASE("exchange: every rank gets the sums, run after run, captured or not") {
  const auto shots = any_shots();
  const int count = GENERATE(2, 3, 4, 8), ctas = GENERATE(1, 2);
  for (const int64_t m : {1, 17, 64}) {
    CAPTURE(static_cast<int>(shots), count, ctas, m);
    Team team;
    use_exchange(team.program, shots, count, m, ctas);
    Ranks& all = team.create(count);
    world().reset_calls();
    all.run_mixed();
    team.check();
    check_nothing_beside(7 * count);
    CHECK(world().early_launches == 7 * count);
  }
}

// Some shares end inside boxes, parts and lines, and some ranks have no rows.
TEST_CASE("exchange: every rank gets its share, as sums or of every rank, captured or not") {
  const auto pattern = GENERATE(kReduceScatter, kAllToAll);
  const auto shots = GENERATE(TILEPOST_ONE_SHOT, TILEPOST_ONE_SHOT_LINES);
  const int count = GENERATE(2, 3, 4, 8), ctas = GENERATE(1, 2);
  for (const int64_t m : {1, 5, 17, 61, 64}) {
    CAPTURE(static_cast<int>(pattern), static_cast<int>(shots), count, ctas, m);
    Team team;
    use_exchange(team.program, shots, count, m, ctas, pattern);
    Ranks& all = team.create(count);
    world().reset_calls();
    all.run_mixed();
    team.check();
    check_nothing_beside(7 * count);
  }
}

TEST_CASE("exchange: shares of any number of rows in any order") {
  const auto pattern = GENERATE(kReduceScatter, kAllToAll);
  const auto shots = GENERATE(TILEPOST_ONE_SHOT, TILEPOST_ONE_SHOT_LINES);
  CAPTURE(static_cast<int>(pattern), static_cast<int>(shots));
  Team team;
  team.program.plan.any_m = 1;
  use_exchange(team.program, shots, 3, 61, 2, pattern);
  Ranks& all = team.create(3);
  for (int64_t m = 1; m <= 61; m += 3) all.run(2, m);
  for (int64_t m = 61; m >= 1; m -= 5) all.run(1, m);
  for (int64_t m = 1; m <= 61; m += 12) all.run_captured(m);
  team.check();
}

// 61 rows on three ranks are 21, 21 and 19. In a slot the share comes behind room for a box, and
// the tensor map ends with the share.
TEST_CASE_METHOD(Team, "exchange: slots have the rows of a share, and room for a box") {
  const auto pattern = GENERATE(kReduceScatter, kAllToAll);
  use_exchange(program, TILEPOST_ONE_SHOT, 3, 61, 2, pattern);
  const auto layout =
      tilepost::cuda::shared_layout(program.plan, tilepost::most_sizes(program.plan));
  CHECK(layout.slot_bytes == (8 + 21) * 24 * 2);
  CHECK(layout.bytes - layout.slots >= 2 * 3 * layout.slot_bytes);
  Ranks& all = create(3);
  all.run(1);
  check();
  const tilepost_exchange_t& last = last_exchange(1);
  CHECK(last.rows == 61);
  CHECK(last.share_rows == 21);
  const auto* const maps = static_cast<const char*>(last.slot_maps);
  for (int parity = 0; parity < 2; ++parity)
    for (int rank = 0; rank < 3; ++rank) {
      const auto& map = *reinterpret_cast<const fakes::MapOf*>(maps + (parity * 3 + rank) * 128);
      CHECK(map.base == last.memory[rank] + last.slots + (parity * 3 + 1) * last.slot_bytes);
      CHECK(map.rows == static_cast<uint64_t>(rank == 2 ? 8 + 19 : 8 + 21));
    }
}

// The kernel leaves what ranks have added up in memory of the operation, in 16 bits: in two shots
// where the other ranks' sums land.
TEST_CASE_METHOD(Team, "exchange: rows of 8 bits are made by a pass behind the kernel") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  const auto shots = any_shots();
  if (shots == TILEPOST_TWO_SHOT && pattern != kAllReduce) return;
  CAPTURE(static_cast<int>(pattern), static_cast<int>(shots));
  program.plan.quantised = 1;
  program.plan.consumer = TILEPOST_CONSUMER_QUANTISE;
  use_exchange(program, shots, 3, 61, 2, pattern);
  program.plan.map.n = 32;
  program.finish();
  Ranks& all = create(3);
  std::vector<float> scales(3 * 64);
  void* outs[3];
  all.on_start = [&](int rank, tilepost_run_operands_t& operands) {
    operands.out_scales = scales.data() + rank * 64;
    outs[rank] = operands.out;
  };
  world().reset_calls();
  all.run_unchecked(1, 61);
  REQUIRE(all.all_ok());
  CHECK(count_calls("gemm ") == 3);
  CHECK(count_calls("quantise ") == 3);
  CHECK(world().nccl.empty());
  for (const int rank : {0, 1, 2}) {
    const tilepost_exchange_t& last = last_exchange(rank);
    CHECK(last.out != outs[rank]);
    CHECK((last.there != nullptr && last.out == last.there[rank]) == (shots == TILEPOST_TWO_SHOT));
  }
}

TEST_CASE("exchange: any number of rows in any order") {
  const auto shots = any_shots();
  CAPTURE(static_cast<int>(shots));
  Team team;
  team.program.plan.any_m = 1;
  use_exchange(team.program, shots, 3, 61, 2);
  Ranks& all = team.create(3);
  for (int64_t m = 1; m <= 61; m += 3) all.run(2, m);
  for (int64_t m = 61; m >= 1; m -= 5) all.run(1, m);
  for (int64_t m = 1; m <= 61; m += 12) all.run_captured(m);
  team.check();
}

// A GEMM that is launched early could take SMs that NCCL's kernel needs.
TEST_CASE_METHOD(Team, "exchange: runs that do not overlap come in between, by NCCL") {
  const auto shots = any_shots();
  CAPTURE(static_cast<int>(shots));
  constexpr int64_t kRows = 5;
  program.use_any_m();
  use_exchange(program, shots, 3, 61);
  Ranks& all = create(3);
  for (int round = 0; round < 6; ++round) {
    world().reset_calls();
    all.run(1 + round % 2);
    check_nothing_beside(3 * (1 + round % 2));
    CHECK(world().early_launches == 3 * (1 + round % 2));
    world().reset_calls();
    // The fakes do not execute what NCCL moves, so no result is compared.
    all.run_unchecked(1, kRows);
    CHECK(count_calls("gemm ") == 3);
    CHECK(world().early_launches == 0);
    CHECK(count_calls("shared_") == 0);
    REQUIRE(world().nccl.size() == 3);
    for (const fakes::NcclCall& call : world().nccl) CHECK(all.is_product(call.from, kRows));
    if (round == 3) all.run_captured();
  }
  check();
}

TEST_CASE_METHOD(Team, "exchange: an eager run is one kernel on the caller's stream") {
  const auto shots = any_shots();
  CAPTURE(static_cast<int>(shots));
  use_exchange(program, shots, 2, 61);
  Ranks& all = create(2);
  world().reset_calls();
  all.run(1);
  check();
  ranks::check_eager_run();
}

TEST_CASE_METHOD(Team, "exchange: a captured run is the kernel, which counts its replays") {
  const auto shots = any_shots();
  CAPTURE(static_cast<int>(shots));
  program.plan.any_m = 1;
  use_exchange(program, shots, 2, 61);
  Ranks& all = create(2);
  for (const int64_t m : {61, 16}) all.run(1, m);
  world().reset_calls();
  for (const int64_t m : {61, 16, 16}) all.run_captured(m);
  check();
  check_nothing_beside(3 * 2);
  for (const std::string& line : ranks::put_on("own"))  // only to see the capture end
    CHECK((line.rfind("cudaEventRecord", 0) == 0 || line.rfind("cudaStreamWaitEvent", 0) == 0));
  ranks::check_third_replay();
}

TEST_CASE_METHOD(Team, "exchange: slots and flags are there twice, and runs take turns at them") {
  const auto shots = any_shots();
  const int ctas = GENERATE(1, 2);
  CAPTURE(static_cast<int>(shots), ctas);
  use_exchange(program, shots, 3, 61, ctas);
  const tilepost_plan_t& plan = program.plan;
  const auto sizes = tilepost::most_sizes(plan);
  const auto layout = tilepost::cuda::shared_layout(plan, sizes);
  const int64_t rows = shots == TILEPOST_TWO_SHOT ? 24 : 61;  // boxes of eight rows, three ranks
  const int64_t lines = 4 * 3 * ctas * ((16 / ctas * 8 + 5) / 6);  // six elements in each
  const int64_t slot = shots == TILEPOST_ONE_SHOT_LINES ? lines * 16 : rows * 24 * 2;
  CHECK(layout.slot_bytes >= slot);
  CHECK(layout.parts == 4 * 3 * ctas);
  const int64_t behind = plan.pushes != 0 ? layout.landed : layout.bytes;
  CHECK(behind - layout.slots >= 2 * 3 * layout.slot_bytes);
  CHECK(layout.slots - layout.arrived >= 2 * 2 * layout.parts * TILEPOST_MOST_EXCHANGING * 4);

  Ranks& all = create(3);
  all.run(1);
  const auto* const maps = static_cast<const char*>(last_exchange(1).slot_maps);
  REQUIRE((maps == nullptr) == (shots == TILEPOST_ONE_SHOT_LINES));
  for (int parity = 0; maps != nullptr && parity < 2; ++parity)
    for (int rank = 0; rank < 3; ++rank) {
      const auto& map = *reinterpret_cast<const fakes::MapOf*>(maps + (parity * 3 + rank) * 128);
      CHECK(map.base == last_exchange(1).memory[rank] + last_exchange(1).slots +
                            (parity * 3 + 1) * last_exchange(1).slot_bytes);
      CHECK(map.rows == static_cast<uint64_t>(rows));
    }
  // One rank adds up slowly, and finds the tiles of the next run beside its own.
  all.run(50);
  check();
}

TEST_CASE("exchange: runs with other rows end with an error on all ranks, which names both") {
  const auto shots = any_shots();
  CAPTURE(static_cast<int>(shots));
  OnFakes fresh;
  fresh.leaves_memory();
  sample::Program program;
  program.plan.any_m = 1;
  use_exchange(program, shots, 3, 61);
  Ranks all(program, 3, kDeadline);
  all.create();
  all.run(2, 61);
  REQUIRE(all.all_ok());
  all.on_all([&](int rank, Rank& mine) {
    ranks::self().run = 3;
    if (all.start(mine, rank == 1 ? 40 : 61) == TILEPOST_OK)
      mine.result = tilepost_op_synchronize(mine.setup.op);
    mine.text = tilepost_last_error();
  });
  for (int rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    const Rank& mine = all.at(rank);
    CAPTURE(mine.result, mine.text);
    // The result is TILEPOST_ABORTED if the watchdog, on a busy machine, finds the error before
    // this thread calls.
    CHECK((mine.result == TILEPOST_INVALID_ARGUMENT || mine.result == TILEPOST_TIMEOUT ||
           mine.result == TILEPOST_ABORTED));
    CHECK_THAT(mine.text, Contains("rank " + std::to_string(rank) + ": run 3: ") &&
                              Contains("m is ") && Contains("40") && Contains("61") &&
                              Contains("rank 1"));
  }
  all.destroy();
}

// Ranks of different hosts do not see each other's calls. Only the words that their kernels
// exchange can differ then.
TEST_CASE("exchange: another operation of the plan on one rank is an error on all") {
  const auto shots = GENERATE(TILEPOST_ONE_SHOT, TILEPOST_TWO_SHOT);
  CAPTURE(static_cast<int>(shots));
  OnFakes fresh;
  fresh.leaves_memory();
  sample::Program program;
  use_exchange(program, shots, 3, 61);
  Ranks all(program, 3, kDeadline), other(program, all);
  for (Ranks* team : {&all, &other}) {
    team->shares = true;
    team->create();
    REQUIRE(team->all_ok());
  }
  all.on_all([&](int rank, Rank& mine) {
    ranks::self().run = 1;
    Rank& runs = rank == 1 ? other.at(rank) : mine;
    if (all.start(runs, 61) == TILEPOST_OK) runs.result = tilepost_op_synchronize(runs.setup.op);
    mine.result = runs.result;
    mine.text = tilepost_last_error();
  });
  for (int rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    CHECK((all.at(rank).result == TILEPOST_INVALID_ARGUMENT ||
           all.at(rank).result == TILEPOST_TIMEOUT));
    CHECK_THAT(all.at(rank).text, Contains("runs another operation of those that share "));
  }
  other.destroy();
  all.destroy();
}

TEST_CASE("exchange: a rank that never comes is named at the deadline") {
  const auto shots = any_shots();
  const int absent = shots == TILEPOST_TWO_SHOT ? 2 : 0;
  CAPTURE(static_cast<int>(shots), absent);
  OnFakes fresh;
  fresh.leaves_memory();
  sample::Program program;
  use_exchange(program, shots, 3, 61);
  Ranks all(program, 3, kDeadline);
  all.create();
  all.run(2);
  REQUIRE(all.all_ok());
  const auto begin = std::chrono::steady_clock::now();
  all.run_but(absent);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == absent) continue;
    CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(all.at(rank).text,
               Contains("rank " + std::to_string(absent) + " did not begin the run within 0.2 s"));
  }
  all.destroy();
}

TEST_CASE("exchange: that a run has ended the next one tells, and who goes waits for nobody") {
  const auto shots = any_shots();
  CAPTURE(static_cast<int>(shots));
  sample::Program program;
  use_exchange(program, shots, 2, 61);
  ranks::check_end_is_told(program);
}

// The kernel of the other rank may still store in that memory.
TEST_CASE("exchange: a rank that goes without a run that others have begun leaves its memory") {
  const auto shots = any_shots();
  CAPTURE(static_cast<int>(shots));
  OnFakes fresh;
  fresh.leaves_memory();
  sample::Program program;
  use_exchange(program, shots, 2, 61);
  Ranks all(program, 2, kDeadline);
  all.create();
  all.run(2);
  REQUIRE(all.all_ok());
  all.run_but(1);
  const int pools = world().live_pools;
  tilepost_op_destroy(std::exchange(all.at(1).setup.op, nullptr));
  CHECK(world().live_pools == pools);
  all.destroy();
}
