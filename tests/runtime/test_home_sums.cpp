// Sums of tokens that one kernel makes and adds up at home (RunPath::sums_at_home): ranks as
// threads with data against sums of each token by itself, the order of one rank's calls, memory,
// runs with too many rows, ranks that do not come, and calls that fail.
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/runtime/token_team.h"

using Catch::Contains;
using fakes::world;
using token_team::Bf16;
using token_team::kExperts;
using token_team::kMost;
using token_team::kTop;
using token_team::kUntouched;
using token_team::OneRun;
using token_team::Random;
using token_team::self;
using token_team::Tokens;

namespace {

constexpr int64_t kColumns = 1032;  // which make two parts of a token's row

// What a rank's experts make of a row in a run.
float product_of(uint32_t run, int rank, int64_t row, int64_t column) {
  return ranks::product(run, rank, row, column) - 16;
}

// Ranks that sum tokens. The stand-in for the GEMM gives their experts' rows.
class SumTeam : public token_team::TokenTeam {
 private:
  void use(int count, int64_t /*most_rows*/) override {
    ranks::use(program_, ranks::stores(kReduceScatter), count, kMost);
    tilepost_plan_t& plan = program_.plan;
    plan.map.n = kColumns;
    plan.map.signals_per_tile = 1;
    plan.comm_ctas = 0;
    plan.comm_lanes = 1;
    plan.epilogue = TILEPOST_RESIDUAL;
    program_.use(TILEPOST_GROUPED_GEMM_COMBINE, count, TILEPOST_DIVISION_SHARES, program_.cuts);
  }

  // Stores the rows of this rank's experts, and nothing behind them.
  fakes::Hang multiply(void** arguments) override {
    fakes::MapOf c;
    std::memcpy(&c, arguments[2], sizeof c);
    const auto& view = *static_cast<const tilepost_view_t*>(arguments[5]);
    const int rows = view.expert_ends[kExperts - 1];
    for (int64_t row = 0; row < std::min<int64_t>(rows, static_cast<int64_t>(c.rows)); ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        static_cast<Bf16*>(c.base)[row * kColumns + column] =
            tilepost::from_float<Bf16>(product_of(self().run, self().rank, row, column));
    return {};
  }

  void give(int rank, const OneRun& /*run*/, tilepost_run_operands_t& operands) override {
    Seat& seat = seats_[rank];
    seat.out.assign(static_cast<size_t>(share(kMost) * kColumns), Bf16{kUntouched});
    seat.residual.clear();
    for (int64_t i = 0; i < share(kMost) * kColumns; ++i)
      seat.residual.push_back(tilepost::from_float<Bf16>(residual_of(rank, i)));
    operands.out = seat.out.data();
    operands.residual = seat.residual.data();
  }
  static float residual_of(int rank, int64_t element) {
    return product_of(self().run, rank + 100, element / kColumns, element % kColumns);
  }

  // The row of a route on the rank of its expert: how many of all ranks' routes come before it.
  int row_of_route(const OneRun& run, int source, size_t route) const {
    const int64_t id = run.tokens[source].ids[route];
    const auto where = static_cast<int>(id / kExperts);
    const auto key = [&](int rank, size_t at) {
      return std::tuple(run.tokens[rank].ids[at], (rank - where + count()) % count(), at);
    };
    int before = 0;
    for (int rank = 0; rank < count(); ++rank)
      for (size_t at = 0; at < run.tokens[rank].ids.size(); ++at)
        before += run.tokens[rank].ids[at] / kExperts == where &&
                  run.tokens[rank].ids[at] >= int64_t{where} * kExperts &&
                  key(rank, at) < key(source, route);
    return before;
  }
  // The routes of a token to experts of a rank, in the order of experts.
  std::vector<size_t> routes_to(const Tokens& tokens, int token, int where) const {
    std::vector<size_t> found;
    for (int local = 0; local < kExperts; ++local)
      for (size_t route = static_cast<size_t>(token) * kTop;
           route < static_cast<size_t>(token + 1) * kTop; ++route)
        if (tokens.ids[route] == where * kExperts + local) found.push_back(route);
    return found;
  }
  std::vector<float> expected(int rank, int token, const OneRun& run) const {
    const Tokens& own = run.tokens[rank];
    std::vector<float> sums(kColumns, 0);
    for (int where = 0; where < count(); ++where) {
      std::vector<float> part(kColumns, 0);
      if (token < own.tokens)
        for (const size_t route : routes_to(own, token, where)) {
          const int row = row_of_route(run, rank, route);
          for (int64_t column = 0; column < kColumns; ++column)
            part[column] = std::fma(own.weights[route], product_of(self().run, where, row, column),
                                    part[column]);
        }
      for (int64_t column = 0; column < kColumns; ++column) {
        if (where == rank) part[column] += residual_of(rank, token * kColumns + column);
        sums[column] += tilepost::to_float(tilepost::from_float<Bf16>(part[column]));
      }
    }
    return sums;
  }
  int64_t count_wrong(int rank, const OneRun& run) const override {
    const std::vector<Bf16>& out = seats_[rank].out;
    const int64_t own = rows_of(rank, run.m);
    int64_t wrong = 0;
    for (int64_t token = 0; token < share(kMost); ++token) {
      const Bf16* const row = &out[static_cast<size_t>(token * kColumns)];
      const std::vector<float> sums =
          token < own ? expected(rank, static_cast<int>(token), run) : std::vector<float>{};
      for (int64_t column = 0; column < kColumns; ++column)
        wrong += row[column].bits !=
                 (token < own ? tilepost::from_float<Bf16>(sums[column]).bits : kUntouched);
    }
    return wrong;
  }
};

// One rank of two. The other one is imitated.
class HomeSums : public Routed {
 public:
  HomeSums() {
    use_tokens(program, TILEPOST_GROUPED_GEMM_COMBINE);
    use_peer(program);
  }
};

}  // namespace

TEST_CASE_METHOD(SumTeam, "home sums: tokens of all ranks, eager and captured, of any m") {
  const int count = GENERATE(2, 3);
  create(count);
  Random random(count);
  run_random(12, random);
  INFO(all().text());
  CHECK(wrong() == 0);
}

TEST_CASE_METHOD(SumTeam,
                 "home sums: a run with too many rows ends on all ranks, and writes nothing") {
  const bool captured = GENERATE(false, true);
  constexpr int kBound = 40;
  leaves_memory();
  create(3, kBound);
  run({run_for_first(kBound)});
  CHECK(wrong() == 0);
  leave_unchecked();
  OneRun many = run_for_first(kBound + 1);
  many.captured = captured;
  run({many});
  CHECK(wrong() == 0);  // the run itself is issued
  for (int rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    CHECK(untouched(rank));
    CHECK(tilepost_op_synchronize(all().at(rank).setup.op) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("the routing gives rank 0 41 rows"));
  }
  run({run_for_first(1)});
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(all().at(rank).result == TILEPOST_ABORTED);
    CHECK(untouched(rank));
  }
}

TEST_CASE_METHOD(SumTeam, "home sums: a rank that does not come is named within the deadline") {
  constexpr double kDeadline = 0.2;
  leaves_memory();
  create(3, kMost * kTop, kDeadline);
  run({run_for_first(9), run_for_first(9)});
  CHECK(wrong() == 0);
  leave_unchecked();
  run({run_for_first(9)}, 1);
  for (const int rank : {0, 2}) {
    CAPTURE(rank);
    CHECK(tilepost_op_synchronize(all().at(rank).setup.op) == TILEPOST_TIMEOUT);
    CHECK_THAT(tilepost_last_error(), Contains("run 3") && Contains("rank 1"));
  }
  CHECK(tilepost_op_status(all().at(1).setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(HomeSums, "home sums: ranks meet behind the GEMM, and end behind the sums") {
  const bool captured = GENERATE(false, true);
  CAPTURE(captured);
  create();
  CHECK(sample::count_calls("preload_home_sums") == 1);
  CHECK(sample::count_calls("preload_token_sums") == 0);
  const int before = world().memory_calls;
  const fakes::Capture capture(user, captured);
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(world().memory_calls == before);
  const order::Order order;
  for (const char* call : {"gemm", "shared_begin", "home_sums", "shared_end"}) {
    CAPTURE(call);
    CHECK(order.count(call) == 1);
  }
  CHECK(sample::count_calls("home_sums user 256") == 1);  // tokens, each in one part
  CHECK(order.all_before("gemm", "shared_begin"));
  CHECK(order.all_before("shared_begin", "home_sums"));
  CHECK(order.all_before("home_sums", "shared_end"));
  CHECK(order.joined("home_sums"));
  if (captured) CHECK(order.joined("shared_end"));
  // Nothing else adds up, waits or moves rows.
  for (const char* call : {"token_sums", "wait", "wait_stored", "sum", "announce",
                           "cudaMemcpyAsync", "reducescatter"}) {
    CAPTURE(call);
    CHECK(order.count(call) == 0);
  }
}

TEST_CASE_METHOD(HomeSums, "home sums: what they take is known before, and is what is allocated") {
  REQUIRE(try_to_route() == TILEPOST_OK);
  const auto allocated = [] {
    int64_t sum = 0;
    for (const auto& [memory, bytes] : world().device_sizes) sum += static_cast<int64_t>(bytes);
    return sum;
  };
  const int64_t before = allocated();
  const tilepost_options_t bound = options();
  tilepost_memory_t planned{sizeof planned, 0, 0, 0}, taken = planned;
  REQUIRE(tilepost_program_memory(setup.comm, &program.program, &bound, &planned) == TILEPOST_OK);
  REQUIRE(tilepost_op_create(setup.comm, &program.program, &bound, &setup.op) == TILEPOST_OK);
  REQUIRE(tilepost_op_memory(setup.op, &taken) == TILEPOST_OK);
  CHECK(planned.device_bytes == taken.device_bytes);
  CHECK(planned.shared_bytes == taken.shared_bytes);
  CHECK(planned.pinned_bytes == taken.pinned_bytes);
  CHECK(allocated() - before == taken.device_bytes);
  // Rows of experts, and slots for every other rank's sums of this rank's tokens.
  const tilepost_plan_t& plan = program.plan;
  CHECK(taken.device_bytes - taken.shared_bytes >= plan.most_rows * plan.map.n * 2);
  CHECK(taken.shared_bytes >= plan.map.m * plan.map.n * 2 / plan.ranks);
}

TEST_CASE("home sums: a call that fails while they are made or run is reported") {
  const bool running = GENERATE(false, true);
  CAPTURE(running);
  int calls = 1;
  for (int failing = 0; failing <= calls; ++failing) {
    HomeSums sums;
    sums.leaves_memory();
    REQUIRE(sums.try_to_route() == TILEPOST_OK);
    const tilepost_options_t bound = sums.options();
    const auto make = [&] {
      return tilepost_op_create(sums.setup.comm, &sums.program.program, &bound, &sums.setup.op);
    };
    if (running) REQUIRE(make() == TILEPOST_OK);
    world().reset_calls();
    world().fail_at = failing;
    const tilepost_result_t result = running ? sums.run() : make();
    if (failing == 0) calls = world().calls;
    world().fail_at = 0;
    INFO("call " << failing << ": " << world().failed_call << ": " << tilepost_last_error());
    CHECK((result != TILEPOST_OK) == !world().failed_call.empty());
    if (!running) CHECK((result == TILEPOST_OK) == (sums.setup.op != nullptr));
  }
  CHECK(calls > 5);
}
