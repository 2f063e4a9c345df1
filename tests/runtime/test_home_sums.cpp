// Sums of tokens that one kernel makes and adds up at home (RunPath::sums_at_home): ranks as
// threads with data against sums of each token by itself, the order of one rank's calls, memory,
// runs with too many rows, ranks that do not come, and calls that fail.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/routing/routing.h"
#include "tests/catch.h"
#include "tests/host/routing_reference.h"
#include "tests/runtime/rank_kernel.h"
#include "tests/runtime/routed.h"
#include "tilepost/host/routing.h"
#include "tilepost/numeric.h"

using Catch::Contains;
using fakes::world;
using ranks::Rank;
using ranks::Ranks;
using ranks::self;
using routing::below;
using routing::Load;
using routing::Random;
using routing::Tokens;
using tilepost::Bf16;

namespace {

constexpr int kExperts = 3, kTop = 4;  // experts of a rank, and of a token
constexpr int64_t kMost = 61;          // tokens of all ranks
constexpr int64_t kColumns = 1032;     // which make two parts of a token's row
constexpr uint16_t kUntouched = 0x7f7f;

// What a rank's experts make of a row in a run.
float product_of(uint32_t run, int rank, int64_t row, int64_t column) {
  return ranks::product(run, rank, row, column) - 16;
}

// One run of all ranks.
struct OneRun {
  std::vector<Tokens> tokens;  // [ranks]
  int64_t m;
  bool captured = false;
};

// Ranks that sum tokens. The stand-in for the GEMM gives their experts' rows, and the host's twin
// makes the tables.
class SumTeam : public OnFakes {
 public:
  ~SumTeam() noexcept(false) { destroy(); }

  void create(int count, int64_t most_rows = kMost * kTop, double deadline_seconds = 5) {
    use(count, most_rows);
    all_ = std::make_unique<Ranks>(program_, count, deadline_seconds);
    world().kernel = [this](void** arguments) { return multiply(arguments); };
    seats_.resize(static_cast<size_t>(count));
    all_->on_all([&](int rank, Rank& mine) {
      mine.result = make_rank(rank, mine, deadline_seconds);
      if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
    });
    INFO(all_->text());
    REQUIRE(all_->all_ok());
  }
  void destroy() {
    if (all_ == nullptr) return;
    all_->on_all([&](int rank, Rank& mine) {
      tilepost_op_destroy(std::exchange(mine.setup.op, nullptr));
      tilepost_routing_destroy(std::exchange(seats_[rank].routing, nullptr));
      mine.setup.release();
    });
    all_.reset();
  }

  Ranks& all() { return *all_; }
  int count() const { return static_cast<int>(seats_.size()); }
  int64_t share(int64_t m) const { return (m + count() - 1) / count(); }
  routing::Shape shape() const {
    return {count(), kExperts * count(), kTop, static_cast<int>(share(kMost))};
  }

  OneRun random_run(Random& random) const {
    OneRun run{{}, 1 + below(random, kMost), below(random, 3) == 0};
    for (int rank = 0; rank < count(); ++rank) {
      const int64_t left = run.m - rank * share(run.m);
      const auto most = static_cast<int>(std::clamp<int64_t>(left, 0, share(run.m)));
      const auto load = static_cast<Load>(below(random, routing::kLoads));
      const int tokens = below(random, 3) == 0 ? most : below(random, most + 1);
      run.tokens.push_back(random_tokens(shape(), tokens, load, random));
      run.tokens.back().encode({false, false});
    }
    return run;
  }
  // Tokens of all ranks for which rank 0 has `rows` rows.
  OneRun run_for_first(int rows) const {
    OneRun run{{}, kMost};
    for (int rank = 0; rank < count(); ++rank) {
      Tokens& tokens = run.tokens.emplace_back();
      tokens.tokens = static_cast<int>(std::min(share(kMost), kMost - rank * share(kMost)));
      for (int route = 0; route < tokens.tokens * kTop; ++route)
        tokens.ids.push_back(rows-- > 0 ? route % kExperts : -1);
      tokens.weights.assign(tokens.ids.size(), 1);
      tokens.encode({false, false});
    }
    return run;
  }

  // Makes the runs on all ranks but `absent`, one after the other, and looks at their outputs. A
  // rank may be ahead of another.
  void run(const std::vector<OneRun>& runs, int absent = -1) {
    const uint32_t first = runs_ + 1;
    runs_ += static_cast<uint32_t>(runs.size());
    all_->on_all([&](int rank, Rank& mine) {
      for (size_t i = 0; i < runs.size() && rank != absent; ++i) {
        self().run = first + static_cast<uint32_t>(i);
        ranks::linger();
        seats_[rank].wrong += start(rank, mine, runs[i]) != TILEPOST_OK;
        if (seats_[rank].checks) seats_[rank].wrong += count_wrong(rank, runs[i]);
      }
    });
  }
  int64_t wrong() const {
    int64_t sum = 0;
    for (const Seat& seat : seats_) sum += seat.wrong;
    return sum;
  }
  // The outputs of runs from here on are not looked at.
  void leave_unchecked() {
    for (Seat& seat : seats_) seat.checks = false;
  }
  bool untouched(int rank) const {
    return std::ranges::all_of(seats_[rank].out, [](Bf16 v) { return v.bits == kUntouched; });
  }

 private:
  struct Seat {
    tilepost_expert_routing_t routing = nullptr;
    std::vector<Bf16> out, residual;
    int64_t wrong = 0;
    bool checks = true;
  };

  void use(int count, int64_t most_rows) {
    ranks::use(program_, ranks::stores(kReduceScatter), count, kMost);
    tilepost_plan_t& plan = program_.plan;
    plan.map.n = kColumns;
    plan.map.signals_per_tile = 1;
    plan.comm_ctas = 0;
    plan.comm_lanes = 1;
    plan.epilogue = TILEPOST_RESIDUAL;
    plan.experts = kExperts;
    plan.top = kTop;
    plan.most_rows = most_rows;
    plan.any_m = 1;
    program_.use(TILEPOST_GROUPED_GEMM_COMBINE, count, TILEPOST_DIVISION_SHARES, program_.cuts);
  }
  tilepost_result_t make_rank(int rank, Rank& mine, double deadline_seconds) {
    const tilepost_unique_id_t id{};
    TILEPOST_TRY(tilepost_comm_init(&id, rank, count(), &mine.setup.comm));
    tilepost_expert_routing_t& routing = seats_[rank].routing;
    TILEPOST_TRY(tilepost_routing_create(mine.setup.comm, shape().experts, kTop,
                                         shape().most_tokens, nullptr, &routing));
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = deadline_seconds;
    options.routing = routing;
    return tilepost_op_create(mine.setup.comm, &program_.program, &options, &mine.setup.op);
  }

  // Stores the rows of this rank's experts, and nothing behind them.
  fakes::Hang multiply(void** arguments) const {
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

  void make_tables(int rank, const std::vector<Tokens>& all) const {
    std::vector<tilepost::RoutedTokens> of_ranks;
    for (const Tokens& tokens : all)
      of_ranks.push_back(
          {tokens.id_bytes.data(), tokens.weight_bytes.data(), false, false, tokens.tokens});
    tilepost_routing_info_t info{};
    tilepost_routing_get_info(seats_[rank].routing, &info);
    const auto writable = [](const auto* table) {
      return const_cast<std::remove_const_t<std::remove_pointer_t<decltype(table)>>*>(table);
    };
    tilepost::RoutingFault fault{};
    tilepost::route_tokens(
        seats_[rank].routing->shape(), of_ranks,
        {writable(info.expert_ends), writable(info.row_tokens), writable(info.token_rows),
         writable(info.token_weights), writable(info.token_ranks), writable(info.tokens),
         writable(info.rank_rows)},
        fault);
  }

  tilepost_result_t start(int rank, Rank& mine, const OneRun& run) {
    Seat& seat = seats_[rank];
    make_tables(rank, run.tokens);
    seat.out.assign(static_cast<size_t>(share(kMost) * kColumns), Bf16{kUntouched});
    seat.residual.clear();
    for (int64_t i = 0; i < share(kMost) * kColumns; ++i)
      seat.residual.push_back(tilepost::from_float<Bf16>(residual_of(rank, i)));
    tilepost_run_operands_t operands = sample::operands();
    operands.out = seat.out.data();
    operands.residual = seat.residual.data();
    operands.m = run.m;
    const fakes::Capture capture(mine.user, run.captured);
    mine.result = tilepost_op_run_with(mine.setup.op, &operands, mine.user);
    if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
    return mine.result;
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
  int64_t count_wrong(int rank, const OneRun& run) const {
    const std::vector<Bf16>& out = seats_[rank].out;
    const int64_t own = std::clamp<int64_t>(run.m - rank * share(run.m), 0, share(run.m));
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

  sample::Program program_;
  std::unique_ptr<Ranks> all_;
  std::vector<Seat> seats_;
  uint32_t runs_ = 0;
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
  std::vector<OneRun> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(random_run(random));
  // The m of a captured run has had an eager run.
  for (OneRun& run : runs) {
    OneRun captured = std::exchange(run, OneRun{run.tokens, run.m});
    this->run({run});
    if (captured.captured) this->run({captured});
  }
  this->run(runs);  // a rank may be runs ahead of another
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
