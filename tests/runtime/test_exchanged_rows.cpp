// Operations whose kernels exchange rows of A by themselves, with ranks as threads: their results,
// what is launched, and where rows arrive.
#include "runtime/cuda/shared/layout.h"
#include "runtime/map/slots.h"
#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::last_exchange;
using ranks::Rank;
using ranks::Ranks;
using ranks::use_exchange;
using ranks::use_exchanged_rows;
using sample::count_calls;

namespace {

constexpr double kDeadline = 0.2;

// Checks that the runs were `kernels` kernels launched early, with none of the calls that other
// runs make before and behind their kernels.
void check_nothing_beside(int kernels) {
  CHECK(count_calls("gemm ") == kernels);
  for (const char* call : {"shared_begin", "shared_end", "announce", "wait_", "post", "replay",
                           "cudaMemset", "cudaMemcpyAsync user"})
    CHECK(count_calls(call) == 0);
  CHECK(world().nccl.empty());
  CHECK(world().early_launches == kernels);
}

}  // namespace

// In every other run the caller passes memory for the gathered rows.
TEST_CASE("rows: every rank multiplies all of them and has them, captured or not") {
  const int count = GENERATE(2, 3, 4, 8);
  for (const int64_t m : {1, 3, 17, 61, 64}) {
    CAPTURE(count, m);
    Team team;
    use_exchanged_rows(team.program, count, m);
    Ranks& all = team.create(count);
    world().reset_calls();
    all.run_mixed();
    team.check();
    check_nothing_beside(7 * count);
  }
}

TEST_CASE_METHOD(Team, "rows: any number of them in any order") {
  program.plan.any_m = 1;
  use_exchanged_rows(program, 3, 61);
  Ranks& all = create(3);
  for (int64_t m = 1; m <= 61; m += 3) all.run(2, m);
  for (int64_t m = 61; m >= 1; m -= 5) all.run(1, m);
  for (int64_t m = 1; m <= 61; m += 12) all.run_captured(m);
  check();
}

TEST_CASE_METHOD(Team, "rows: runs that do not overlap come in between, by NCCL") {
  constexpr int64_t kRows = 5;
  program.use_any_m();
  use_exchanged_rows(program, 3, 61);
  Ranks& all = create(3);
  for (int round = 0; round < 4; ++round) {
    world().reset_calls();
    all.run(1 + round % 2);
    check_nothing_beside(3 * (1 + round % 2));
    world().reset_calls();
    // The fakes do not execute what NCCL moves, so no result is compared.
    all.run_unchecked(1, kRows);
    CHECK(count_calls("gemm ") == 3);
    CHECK(world().early_launches == 0);
    CHECK(world().nccl.size() > 0);
  }
  check();
}

TEST_CASE_METHOD(Team, "rows: they arrive in two places by turns, and own ones are read in A") {
  use_exchanged_rows(program, 3, 61);
  const tilepost_plan_t& plan = program.plan;
  const int64_t row = plan.k * 2;
  const auto layout = tilepost::cuda::shared_layout(plan, tilepost::most_sizes(plan));
  CHECK(layout.gathered_bytes >= 61 * row);
  CHECK(layout.slots - layout.gathered >= 2 * layout.gathered_bytes);
  CHECK(layout.parts == tilepost::exchanged_parts(plan));

  Ranks& all = create(3);
  for (const int rank : {0, 1, 2}) {
    CAPTURE(rank);
    all.run(2);  // the second run has memory for the gathered rows
    const tilepost_exchange_t& exchange = last_exchange(rank);
    CHECK(exchange.slots == layout.gathered);
    CHECK(exchange.slot_bytes == layout.gathered_bytes);
    CHECK(exchange.row_units * 16 == row);
    CHECK(exchange.part_units == 128);
    CHECK(exchange.own_rows == all.at(rank).a.data());
    CHECK(exchange.gathered == all.at(rank).gathered.data());
    all.run(1);
    CHECK(last_exchange(rank).gathered == nullptr);
    all.run(1);
  }
  // One rank reads slowly, and finds the rows of the next run beside its own.
  all.run(50);
  check();
}

// In a row of 1040 elements blocks begin inside parts, and the last one has an eighth of a block.
TEST_CASE("rows: scales of blocks come with them, and go to whoever wants all") {
  const int count = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 17, 61), k = GENERATE(1024, 1040), blocks = (k + 127) / 128;
  CAPTURE(count, m, k);
  Team team;
  use_exchanged_rows(team.program, count, m);
  tilepost_plan_t& plan = team.program.plan;
  plan.input = TILEPOST_E4M3;
  plan.scales = TILEPOST_SCALES_BLOCKS;
  plan.k = k;
  team.program.finish();
  Ranks& all = team.create(count);
  const int64_t share = (m + count - 1) / count;
  std::vector<std::vector<float>> own(count), gathered(count);
  std::vector<float> of_b(64, 1), wanted;
  for (int64_t i = 0; i < m * blocks; ++i)
    wanted.push_back(ranks::scale_of(i / blocks, i % blocks));
  for (int rank = 0; rank < count; ++rank) {
    const int64_t first = std::min(rank * share, m), end = std::min(first + share, m);
    own[rank].assign(wanted.begin() + first * blocks, wanted.begin() + end * blocks);
    own[rank].push_back(0);  // so that a rank without rows has an address
    gathered[rank].resize(wanted.size());
  }
  all.on_start = [&](int rank, tilepost_run_operands_t& operands) {
    operands.scale_a = own[rank].data();
    operands.scale_b = of_b.data();
    operands.gathered_scales = gathered[rank].data();
  };
  ranks::wrong_scales = 0;
  world().reset_calls();
  all.run_unchecked(5, m);
  REQUIRE(all.all_ok());
  CHECK(ranks::wrong_scales == 0);
  CHECK(gathered == std::vector<std::vector<float>>(count, wanted));
  CHECK(count_calls("gemm ") == 5 * count);
}

// A part has one unit for each of 128 helper threads. Where that makes more parts than a GPU has
// CTAs, it has two or four units for each thread.
TEST_CASE("rows: parts are as large as helper warps keep, or as few as CTAs") {
  sample::Program program;
  use_exchanged_rows(program, 4, 2048);
  const tilepost_plan_t& plan = program.plan;  // a row is 64 units
  const auto parts = [&](int64_t m) {
    const int units = tilepost::units_of_part(plan, m);
    return std::pair<int, int64_t>(units, ((m + 3) / 4 * 64 + units - 1) / units);
  };
  CHECK(parts(1) == std::pair<int, int64_t>(128, 1));
  CHECK(parts(64) == std::pair<int, int64_t>(128, 8));
  CHECK(parts(896) == std::pair<int, int64_t>(128, 112));
  CHECK(parts(900) == std::pair<int, int64_t>(256, 57));
  CHECK(parts(1792) == std::pair<int, int64_t>(256, 112));
  CHECK(parts(2048) == std::pair<int, int64_t>(512, 64));
  program.plan.k = 4096;
  CHECK(tilepost::units_of_part(plan, 2048) == 512);
  CHECK(tilepost::exchanged_parts(plan) == 512);
  for (int64_t m = 1; m <= 2048; ++m)
    REQUIRE(((m + 3) / 4 * 512 + tilepost::units_of_part(plan, m) - 1) /
                tilepost::units_of_part(plan, m) <=
            tilepost::exchanged_parts(plan));
}

TEST_CASE("rows: a rank that never comes is named, and one that has other rows") {
  OnFakes fresh;
  fresh.leaves_memory();
  sample::Program program;
  program.plan.any_m = 1;
  const bool is_absent = GENERATE(true, false);
  CAPTURE(is_absent);
  use_exchanged_rows(program, 3, 61);
  Ranks all(program, 3, kDeadline);
  all.create();
  all.run(2, 61);
  REQUIRE(all.all_ok());
  if (is_absent) all.run_but(1);
  all.on_all([&](int rank, Rank& mine) {
    if (is_absent) return;
    ranks::self().run = 3;
    if (all.start(mine, rank == 1 ? 40 : 61) == TILEPOST_OK)
      mine.result = tilepost_op_synchronize(mine.setup.op);
    mine.text = tilepost_last_error();
  });
  for (const int rank : {0, 2}) {
    CAPTURE(rank, all.at(rank).text);
    CHECK(all.at(rank).result != TILEPOST_OK);
    CHECK_THAT(all.at(rank).text, Contains("rank 1"));
    if (!is_absent) CHECK_THAT(all.at(rank).text, Contains("40") && Contains("61"));
  }
  all.destroy();
}

// Operations of three ranks on one communicator: two that exchange rows, and others that share
// their memory.
TEST_CASE("rows: operations that share memory take turns at it") {
  OnFakes fresh;
  std::vector<std::unique_ptr<sample::Program>> programs;
  std::vector<std::unique_ptr<Ranks>> teams;
  const auto add = [&](const auto& make) -> Ranks& {
    make(*programs.emplace_back(std::make_unique<sample::Program>()));
    teams.push_back(teams.empty() ? std::make_unique<Ranks>(*programs.back(), 3)
                                  : std::make_unique<Ranks>(*programs.back(), *teams.front()));
    teams.back()->shares = true;
    teams.back()->create();
    return *teams.back();
  };
  const auto rows = [](int64_t m) {
    return [m](sample::Program& program) { use_exchanged_rows(program, 3, m); };
  };
  Ranks* const all[] = {
      &add([](auto& program) { ranks::use(program, ranks::tasks(kAllReduce), 3, 8192); }),
      &add(rows(61)), &add(rows(40)),
      &add([](auto& program) { use_exchange(program, TILEPOST_ONE_SHOT, 3, 61); }),
      &add([](auto& program) { ranks::use(program, ranks::pushed_rows(), 3, 61); })};
  CHECK(world().live_pools == 3);
  std::minstd_rand random(7);
  for (int round = 0; round < 4; ++round) {
    std::vector<Ranks::Turn> turns;
    for (int i = 0; i < 12; ++i)
      turns.push_back({all[1 + random() / 7 % 4], random() / 7 % 4 == 0});
    Ranks::take_turns(turns);
  }
  for (const auto& team : teams) {
    INFO(team->text());
    CHECK(team->all_ok());
    CHECK(team->wrong() == 0);
  }
  while (!teams.empty()) teams.pop_back();
}
