// Tokens that a kernel in front of the GEMM pushes (RunPath::pushes_tokens): ranks as threads with
// data, the order of one rank's calls, memory, runs with too many rows, ranks that do not come, and
// calls that fail.
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/cuda/watch/epoch.h"
#include "tests/runtime/token_team.h"
#include "tilepost/internal/token_tiles.h"

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

namespace {

constexpr int64_t kColumns = 24;  // of the output
constexpr int64_t kDepth = 1000;  // elements of a token, so that a share has several chunks

float token_element(uint32_t run, int rank, int64_t token, int64_t at_k) {
  return ranks::product(run, rank, token, at_k);
}

// Ranks whose tokens go to experts. The stand-in for the GEMM gives some elements of each row's
// token, spread over all of it.
class PushTeam : public token_team::TokenTeam {
 public:
  // The GEMM's waits give up after so many seconds.
  double patience = 5;
  // So long rank 0 waits before it reads tokens that have come.
  std::chrono::milliseconds reads_late{0};

 private:
  static int64_t depth_of(int64_t column) { return column * kDepth / kColumns; }

  void use(int count, int64_t /*most_rows*/) override {
    ranks::use(program_, {kAllGather, TILEPOST_ACCESS_WRITE}, count, kMost);
    tilepost_plan_t& plan = program_.plan;
    plan.k = kDepth;
    plan.map.n = kColumns;
    plan.map.signals_per_tile = 1;
    plan.comm_ctas = 0;
    plan.reads_own = 1;
    program_.use(TILEPOST_DISPATCH_GROUPED_GEMM, count, TILEPOST_DIVISION_ARRIVALS, program_.cuts);
  }

  // Waits for what a tile of `group` waits for.
  static bool wait_for(const tilepost_view_t& view, int group, double seconds) {
    const auto begin = std::chrono::steady_clock::now();
    const std::chrono::duration<double> deadline(seconds);
    for (int g = 0; g <= group; ++g) {
      const uint32_t* const counter = view.tasks.stored + g * TILEPOST_COUNTER_STRIDE;
      while (!tilepost::cuda::reached(__atomic_load_n(counter, __ATOMIC_ACQUIRE),
                                      view.tasks.expected[g])) {
        if (__atomic_load_n(view.tasks.abort, __ATOMIC_ACQUIRE) != 0) return false;
        if (std::chrono::steady_clock::now() - begin > deadline) return false;
        std::this_thread::yield();
      }
    }
    return true;
  }

  fakes::Hang multiply(void** arguments) override {
    fakes::MapOf c;
    std::memcpy(&c, arguments[2], sizeof c);
    const auto view = *static_cast<const tilepost_view_t*>(arguments[5]);
    for (int i = 1; i <= view.token_tiles[0].row; ++i) {
      const tilepost_token_tile_t& tile = view.token_tiles[i];
      if (!wait_for(view, tile.group, patience))
        return {true, [abort = view.tasks.abort] {
                  return __atomic_load_n(abort, __ATOMIC_ACQUIRE) != 0;
                }};
      if (tile.group > 0 && self().rank == 0) std::this_thread::sleep_for(reads_late);
      for (int row = tile.row; row < tile.row + tile.rows; ++row)
        copy_row(view, row, static_cast<Bf16*>(c.base) + row * kColumns);
    }
    return {};
  }
  static void copy_row(const tilepost_view_t& view, int row, Bf16* to) {
    const auto place = tilepost::place_of_token(view.row_tokens[row], view.most_tokens);
    const auto* const base =
        static_cast<const Bf16*>(place.rank == view.rank ? view.own_tokens : view.all_tokens);
    const int64_t first = (int64_t{place.rank} * view.token_rows + place.token) * kDepth;
    for (int64_t column = 0; column < kColumns; ++column)
      to[column] = base[first + depth_of(column)];
  }

  void give(int rank, const OneRun& run, tilepost_run_operands_t& operands) override {
    Seat& seat = seats_[rank];
    seat.a.clear();
    for (int64_t i = 0; i < share(run.m) * kDepth; ++i)
      seat.a.push_back(
          tilepost::from_float<Bf16>(token_element(self().run, rank, i / kDepth, i % kDepth)));
    seat.out.assign(static_cast<size_t>(kMost * kTop * kColumns), Bf16{kUntouched});
    seat.gathered.assign(static_cast<size_t>(kMost * kDepth), Bf16{kUntouched});
    operands.a = seat.a.data();
    operands.out = seat.out.data();
    // Every other run gets memory of the caller's for what is gathered.
    operands.gathered = self().run % 2 == 0 ? seat.gathered.data() : nullptr;
  }

  int64_t count_wrong(int rank, const OneRun& run) const override {
    const tilepost_routing_info_t tables = tables_of(rank);
    const int rows = tables.expert_ends[kExperts - 1];
    const std::vector<Bf16>& out = seats_[rank].out;
    int64_t wrong = 0;
    for (int row = 0; row < kMost * kTop; ++row)
      for (int64_t column = 0; column < kColumns; ++column) {
        uint16_t right = kUntouched;
        if (row < rows) {
          const auto token = tilepost::place_of_token(tables.row_tokens[row], shape().most_tokens);
          right = tilepost::from_float<Bf16>(
                      token_element(self().run, token.rank, token.token, depth_of(column)))
                      .bits;
        }
        wrong += out[static_cast<size_t>(row * kColumns + column)].bits != right;
      }
    return wrong + (self().run % 2 == 0 ? wrong_gathered(rank, run) : 0);
  }
  int64_t wrong_gathered(int rank, const OneRun& run) const {
    int64_t wrong = 0;
    for (int64_t row = 0; row < run.m; ++row)
      for (int64_t at_k = 0; at_k < kDepth; ++at_k) {
        const auto source = static_cast<int>(row / share(run.m));
        const float right = token_element(self().run, source, row - source * share(run.m), at_k);
        wrong += seats_[rank].gathered[static_cast<size_t>(row * kDepth + at_k)].bits !=
                 tilepost::from_float<Bf16>(right).bits;
      }
    return wrong;
  }
};

// One rank of two. The other one is imitated.
class Pushed : public Routed {
 public:
  Pushed() {
    use_tokens(program, TILEPOST_DISPATCH_GROUPED_GEMM);
    use_peer(program);
  }
};

}  // namespace

TEST_CASE_METHOD(PushTeam, "pushed tokens: of all ranks, eager and captured, of any m") {
  const int count = GENERATE(2, 3);
  create(count);
  Random random(count);
  run_random(12, random);
  INFO(all().text());
  CHECK(wrong() == 0);
}

TEST_CASE_METHOD(PushTeam, "pushed tokens: counters that come before the rows are seen") {
  create(2);
  world().counts_before_rows = true;
  Random random(7);
  run_random(4, random);
  CHECK(wrong() > 0);
}

TEST_CASE_METHOD(PushTeam,
                 "pushed tokens: tokens that come before the last run has ended are seen") {
  const bool early = GENERATE(false, true);
  CAPTURE(early);
  create(2);
  reads_late = std::chrono::milliseconds(2);
  world().begins_early = early;
  run({run_for_first(kMost * kTop), run_for_first(kMost * kTop), run_for_first(kMost * kTop)});
  INFO(all().text());
  CHECK((wrong() > 0) == early);
}

TEST_CASE_METHOD(PushTeam, "pushed tokens: a run with too many rows writes nothing on any rank") {
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

TEST_CASE_METHOD(PushTeam, "pushed tokens: a rank that does not come is named") {
  constexpr double kDeadline = 0.2;
  patience = kDeadline;
  leaves_memory();
  create(3, kMost * kTop, kDeadline);
  run({run_for_first(9), run_for_first(9)});
  CHECK(wrong() == 0);
  leave_unchecked();
  run({run_for_first(kMost * kTop)}, 1);
  for (const int rank : {0, 2}) {
    CAPTURE(rank);
    CHECK(tilepost_op_synchronize(all().at(rank).setup.op) == TILEPOST_TIMEOUT);
    CHECK_THAT(tilepost_last_error(), Contains("run 3") && Contains("rank 1"));
  }
  CHECK(tilepost_op_status(all().at(1).setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Pushed, "pushed tokens: the run begins, tokens are pushed, and the GEMM follows") {
  const bool captured = GENERATE(false, true), gathers = GENERATE(false, true);
  CAPTURE(captured, gathers);
  create();
  CHECK(sample::count_calls("preload_token_list") == 1);
  CHECK(sample::count_calls("preload_arrivals") == 0);
  const int before = world().memory_calls;
  const fakes::Capture capture(user, captured);
  world().reset_calls();
  tilepost_run_operands_t operands = sample::operands();
  if (gathers) operands.gathered = sample::pointer(9);
  REQUIRE(run_with(operands) == TILEPOST_OK);
  CHECK(world().memory_calls == before);
  const order::Order order;
  for (const char* call : {"shared_begin", "token_list", "gemm", "shared_end"}) {
    CAPTURE(call);
    CHECK(order.count(call) == 1);
  }
  CHECK(sample::count_calls("token_list user 1024 pushes 8") == 1);  // 256 rows of 512 bytes
  CHECK(order.all_before("shared_begin", "token_list"));
  CHECK(order.all_before("token_list", "gemm"));
  CHECK(order.all_before("gemm", "shared_end"));
  CHECK(order.joined("gemm"));
  if (captured) CHECK(order.joined("shared_end"));
  // Nothing waits, copies or posts beside the GEMM. All groups but the own tokens are waited for
  // where the caller wants what is gathered.
  for (const char* call : {"wait", "post", "announce", "arrivals", "send", "recv"}) {
    CAPTURE(call);
    CHECK(order.count(call) == 0);
  }
  CHECK(order.count("wait_stored") == (gathers ? 2 : 0));
  CHECK(order.count("cudaMemcpyAsync") == (gathers ? 2 : 0));
  if (gathers) CHECK(order.all_before("wait_stored", "cudaMemcpyAsync"));
}

TEST_CASE_METHOD(Pushed, "pushed tokens: a run in sequence pushes nothing and gathers first") {
  program.use_any_m();
  create();
  world().reset_calls();
  REQUIRE(run(2) == TILEPOST_OK);  // a row of each rank, for which overlap does not pay
  const order::Order order;
  CHECK(sample::count_calls("token_list user 4") == 1);
  CHECK(sample::count_calls("token_list user 4 pushes") == 0);
  CHECK(order.all_before("allgather", "gemm"));
  CHECK(order.all_before("shared_begin", "allgather"));
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(sample::count_calls("token_list user 1024 pushes 8") == 1);
}

TEST_CASE_METHOD(Pushed, "pushed tokens: what they take is known before, and is allocated") {
  REQUIRE(try_to_route() == TILEPOST_OK);
  const tilepost_options_t bound = options();
  tilepost_memory_t planned{sizeof planned, 0, 0, 0}, taken = planned;
  REQUIRE(tilepost_program_memory(setup.comm, &program.program, &bound, &planned) == TILEPOST_OK);
  REQUIRE(tilepost_op_create(setup.comm, &program.program, &bound, &setup.op) == TILEPOST_OK);
  REQUIRE(tilepost_op_memory(setup.op, &taken) == TILEPOST_OK);
  CHECK(planned.device_bytes == taken.device_bytes);
  CHECK(planned.shared_bytes == taken.shared_bytes);
  CHECK(planned.pinned_bytes == taken.pinned_bytes);
  // All tokens, in one place.
  const int64_t tokens = program.plan.map.m * program.plan.k * 2;
  CHECK((taken.shared_bytes >= tokens && taken.shared_bytes < 2 * tokens + (2 << 20)));
}

TEST_CASE("pushed tokens: a plan that reads own tokens where none are brought is refused") {
  Pushed pushed;
  pushed.program.plan.reads_own = 0;
  CHECK(pushed.try_to_create(pushed.program.program) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("reads_own is 0, expected 1 to 1"));
}

TEST_CASE("pushed tokens: a call that fails while they are made or run is reported") {
  const bool running = GENERATE(false, true);
  CAPTURE(running);
  int calls = 1;
  for (int failing = 0; failing <= calls; ++failing) {
    Pushed pushed;
    pushed.leaves_memory();
    REQUIRE(pushed.try_to_route() == TILEPOST_OK);
    const tilepost_options_t bound = pushed.options();
    const auto make = [&] {
      return tilepost_op_create(pushed.setup.comm, &pushed.program.program, &bound,
                                &pushed.setup.op);
    };
    if (running) REQUIRE(make() == TILEPOST_OK);
    world().reset_calls();
    world().fail_at = failing;
    const tilepost_result_t result = running ? pushed.run() : make();
    if (failing == 0) calls = world().calls;
    world().fail_at = 0;
    INFO("call " << failing << ": " << world().failed_call << ": " << tilepost_last_error());
    CHECK((result != TILEPOST_OK) == !world().failed_call.empty());
    if (!running) CHECK((result == TILEPOST_OK) == (pushed.setup.op != nullptr));
  }
  CHECK(calls > 5);
}
