// Operations with several plans, each for a range of m.
#include <deque>
#include <thread>

#include "tests/catch.h"
#include "tests/host/variants.h"

using Catch::Contains;

namespace {

constexpr int kN = 20;

// A plan of a ranged program: its rows, and its way.
struct Range {
  int64_t m;
  tilepost_access_t access;
  tilepost_shots_t shots = TILEPOST_SHOTS_NONE;
  tilepost_transport_t transport = TILEPOST_TRANSPORT_HOST;
};

Problem problem_of(tilepost_pattern_t pattern, const Range& range, int ranks, uint64_t seed) {
  const bool gathers = tilepost::row_of(pattern).moves_input();
  const bool spreads = tilepost::row_of(pattern).product_spreads();
  const bool pushes = range.access != TILEPOST_ACCESS_MESSAGES &&
                      (gathers || range.shots == TILEPOST_TWO_SHOT ||
                       (spreads && range.access == TILEPOST_ACCESS_WRITE));
  Problem problem = make({pattern, TILEPOST_PANEL, TILEPOST_CONSUMER_NONE, range.transport,
                          TILEPOST_ROUTING_EVEN, range.access, pushes, false, range.shots},
                         ranks, seed);
  if (range.access == TILEPOST_ACCESS_TILES) problem.cluster = 1;
  problem.any_m = true;
  problem.m = range.m;
  problem.n = kN;
  problem.k = 5;
  return problem;
}

// A program with a host plan for each range. The plan for the most rows comes first.
class Ranged {
 public:
  Ranged(tilepost_pattern_t pattern, const std::vector<Range>& ranges, int ranks, uint64_t seed = 1)
      : problem_(problem_of(pattern, ranges.front(), ranks, seed)) {
    for (const Range& range : ranges) {
      programs_.push_back(std::make_unique<Program>(problem_of(pattern, range, ranks, seed)));
      plans_.push_back(programs_.back()->plan());
    }
    program_ = {TILEPOST_ABI_VERSION, "ranged", static_cast<int32_t>(plans_.size()), plans_.data()};
  }
  Ranged(const Ranged&) = delete;

  const Problem& problem() const { return problem_; }
  const tilepost_program_t& get() const { return program_; }
  std::vector<tilepost_plan_t>& plans() { return plans_; }

 private:
  const Problem problem_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<tilepost_plan_t> plans_;
  tilepost_program_t program_{};
};

// Ranges for a pattern: `large` for many rows, and ways for few rows. Some share the memory of
// `large`.
std::vector<Range> ranges_by(tilepost_pattern_t pattern, tilepost_access_t large) {
  std::vector<Range> ranges = {{96, large}, {40, TILEPOST_ACCESS_TILES, TILEPOST_ONE_SHOT}};
  if (pattern == TILEPOST_GEMM_ALL_REDUCE) ranges[1].shots = TILEPOST_TWO_SHOT;
  if (tilepost::row_of(pattern).moves_input())
    ranges.push_back({17, TILEPOST_ACCESS_TILES, TILEPOST_ONE_SHOT});
  else
    ranges.push_back({17, TILEPOST_ACCESS_TILES, TILEPOST_ONE_SHOT_LINES});
  ranges.push_back({5, TILEPOST_ACCESS_MESSAGES, TILEPOST_SHOTS_NONE, TILEPOST_TRANSPORT_NONE});
  return ranges;
}

std::string synchronize(const Ops& ops, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    if (tilepost_op_synchronize(ops[rank]) != TILEPOST_OK) return tilepost_last_error();
  return "";
}

// Makes runs around the ends of all ranges, several at a time. Returns the first fault.
std::string run_mixed(const Problem& problem, const Ops& ops, uint64_t seed) {
  constexpr int64_t kRows[] = {1, 5, 6, 16, 17, 18, 39, 40, 41, 64, 95, 96, 0};
  std::mt19937_64 random(seed);
  for (int batch = 0; batch < 8; ++batch) {
    std::deque<PatternRun> runs;
    for (int i = 0; i < 4; ++i) {
      int64_t m = kRows[random() % std::size(kRows)];
      if (m == 0) m = 1 + static_cast<int64_t>(random() % 96);
      runs.emplace_back(problem, m, Spread::random, true, random);
      if (const std::string wrong = runs.back().start(ops); !wrong.empty()) return wrong;
    }
    if (const std::string wrong = synchronize(ops, problem.ranks); !wrong.empty()) return wrong;
    for (const PatternRun& run : runs)
      if (const std::string wrong = run.compare(); !wrong.empty()) return wrong;
  }
  return "";
}

// Both ranks of `program` start a run, but with different rows. Returns the error of rank 0.
std::string told_of(const Ranged& program, int64_t m, int64_t other_m) {
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2, 30);
  std::mt19937_64 random(3);
  PatternRun run(program.problem(), m, Spread::random, true, random);
  PatternRun other(program.problem(), other_m, Spread::random, true, random);
  static_cast<void>(run.start(ops, 0));
  static_cast<void>(other.start(ops, 1));
  std::string text;
  for (int rank = 1; rank >= 0; --rank) {
    const tilepost_result_t result = tilepost_op_synchronize(ops[rank]);
    if (result != TILEPOST_INVALID_ARGUMENT && result != TILEPOST_ABORTED) return "no error";
    text = tilepost_last_error();
  }
  return text;
}

// The error of creating an operation, or "".
std::string refusal_of(const Ranged& program) {
  const Comms comms(2);
  tilepost_op_t op = nullptr;
  const tilepost_result_t result = tilepost_op_create(comms[0], &program.get(), nullptr, &op);
  if (result == TILEPOST_OK) tilepost_op_destroy(op);
  return result == TILEPOST_OK ? "" : tilepost_last_error();
}

std::vector<Range> messages(std::initializer_list<int64_t> rows) {
  std::vector<Range> ranges;
  for (const int64_t m : rows) ranges.push_back({m, TILEPOST_ACCESS_MESSAGES});
  return ranges;
}

}  // namespace

TEST_CASE("runs around the ends of ranges are right, whoever's they are") {
  const auto pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  for (const auto large : {TILEPOST_ACCESS_MESSAGES, TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE})
    for (const int ranks : {2, 3, 4})
      for (const bool share : {false, true}) {
        const uint64_t seed = 4 * ranks + large;
        const Ranged program(pattern, ranges_by(pattern, large), ranks, seed);
        INFO("pattern " << pattern << " access " << large << " ranks " << ranks);
        const Comms comms(ranks);
        const Ops ops(comms, program.get(), ranks, 60, 1 + static_cast<int>(seed % 3), share);
        CHECK(run_mixed(program.problem(), ops, seed) == "");
      }
}

TEST_CASE("what an operation with ranges takes is known before, and which runs overlap") {
  const Ranged program(TILEPOST_GEMM_ALL_REDUCE,
                       ranges_by(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_ACCESS_WRITE), 2);
  const Comms comms(2);
  tilepost_memory_t planned{sizeof planned, 0, 0, 0}, taken = planned;
  REQUIRE(tilepost_program_memory(comms[0], &program.get(), nullptr, &planned) == TILEPOST_OK);
  const Ops ops(comms, program.get(), 2);
  REQUIRE(tilepost_op_memory(ops[0], &taken) == TILEPOST_OK);
  CHECK(planned.device_bytes == taken.device_bytes);
  CHECK(planned.shared_bytes == taken.shared_bytes);
  // The last plan has no overlap, and the others have.
  for (const int64_t m : {1, 5, 6, 17, 18, 40, 41, 96}) {
    int overlaps = -1;
    REQUIRE(tilepost_op_overlaps(ops[0], m, &overlaps) == TILEPOST_OK);
    CHECK(overlaps == (m > 5 ? 1 : 0));
  }
}

TEST_CASE("a pattern that communicates nothing has ranges too") {
  const Ranged program(
      TILEPOST_GEMM,
      {{96, TILEPOST_ACCESS_MESSAGES, TILEPOST_SHOTS_NONE, TILEPOST_TRANSPORT_NONE},
       {17, TILEPOST_ACCESS_MESSAGES, TILEPOST_SHOTS_NONE, TILEPOST_TRANSPORT_NONE}},
      2);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  CHECK(run_mixed(program.problem(), ops, 5) == "");
}

TEST_CASE("another m on one rank is told at once, whichever plans they are") {
  const auto large =
      GENERATE(TILEPOST_ACCESS_MESSAGES, TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE);
  const Ranged program(TILEPOST_GEMM_ALL_REDUCE, ranges_by(TILEPOST_GEMM_ALL_REDUCE, large), 2);
  for (const auto& [m, other] :
       {std::pair<int64_t, int64_t>{96, 95}, {96, 40}, {40, 39}, {40, 17}, {17, 3}, {3, 96}}) {
    const std::string text = told_of(program, m, other);
    INFO(text);
    CHECK_THAT(text, Contains("run 1 of 'ranged'") && Contains("m is ") &&
                         Contains(std::to_string(m) + " on rank 0") &&
                         Contains(std::to_string(other) + " on rank 1") &&
                         Contains("pass the same m on every rank"));
  }
}

TEST_CASE("an operation with ranges is one to its caller") {
  const std::vector<Range> ranges = ranges_by(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_ACCESS_WRITE);
  Ranged program(TILEPOST_GEMM_ALL_REDUCE, ranges, 2);
  const Comms comms(2);
  {
    const Ops ops(comms, program.get(), 2);
    CHECK(tilepost_comm_destroy(comms[0]) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("not been destroyed: 1"));
    tilepost_op_info_t info{};
    REQUIRE(tilepost_op_get_info(ops[0], &info) == TILEPOST_OK);
    CHECK(info.plan == &program.plans().front());
    CHECK(info.out_elements == 96 * kN);
    CHECK(info.out != nullptr);
    CHECK(tilepost_op_status(ops[0]) == TILEPOST_OK);
    const tilepost_route_t route{sizeof route, 1, nullptr, nullptr};
    CHECK(tilepost_op_route(ops[0], &route, nullptr) == TILEPOST_INVALID_ARGUMENT);
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    std::vector<uint16_t> memory(96 * kN + 64);
    operands.a = operands.b = operands.out = info.out;
    for (const int64_t m : {int64_t{-2}, int64_t{97}}) {
      operands.m = m;
      CHECK(tilepost_op_run_with(ops[0], &operands, nullptr) == TILEPOST_INVALID_ARGUMENT);
      CHECK_THAT(tilepost_last_error(),
                 Contains("m must be from 0 to 96, or TILEPOST_PLANNED_M (-1) for 96"));
    }
    // Another operation of the communicator counts its runs from one.
    const Ops others(comms, program.get(), 2);
    CHECK(run_mixed(program.problem(), others, 6) == "");
    CHECK(run_mixed(program.problem(), ops, 7) == "");
  }
  CHECK(refusal_of(Ranged(TILEPOST_GEMM_ALL_REDUCE, ranges, 2)) == "");
}

TEST_CASE("outputs are lent to all ranges, and registered with those that store in them") {
  const int ranks = GENERATE(2, 3);
  const Ranged program(TILEPOST_GEMM_ALL_REDUCE,
                       ranges_by(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_ACCESS_WRITE), ranks);
  const Comms comms(ranks);
  const Ops ops(comms, program.get(), ranks);
  std::vector<Aligned> buffers;
  for (int rank = 0; rank < ranks; ++rank)
    buffers.emplace_back(reference::Matrix(size_t{96} * kN + 8));
  const auto on_all = [&](const auto& call) {
    std::vector<tilepost_result_t> results(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] { results[rank] = call(rank); });
    for (std::thread& thread : threads) thread.join();
    return results;
  };
  const std::vector<tilepost_result_t> all_ok(ranks, TILEPOST_OK);
  REQUIRE(on_all([&](int rank) {
            return tilepost_op_register(ops[rank], buffers[rank].data(), int64_t{96} * kN * 2);
          }) == all_ok);
  CHECK(on_all([&](int rank) {
          return tilepost_op_register(ops[rank], buffers[rank].data(), int64_t{96} * kN * 2);
        }) == std::vector(ranks, TILEPOST_INVALID_ARGUMENT));
  std::mt19937_64 random(8);
  for (const int64_t m : {96, 40, 17, 5, 41, 18, 6, 1, 96}) {
    std::vector<uint16_t*> outs;
    for (Aligned& buffer : buffers) outs.push_back(buffer.data());
    PatternRun registered(program.problem(), m, Spread::random, true, random);
    registered.use_outs(outs);
    CHECK(registered.start(ops) == "");
    CHECK(synchronize(ops, ranks) == "");
    CHECK(registered.compare() == "");
    PatternRun lent(program.problem(), m, Spread::random, true, random);
    lent.use_lent();
    CHECK(lent.start(ops) == "");
    CHECK(synchronize(ops, ranks) == "");
    CHECK(lent.compare() == "");
  }
  CHECK(on_all([&](int rank) { return tilepost_op_unregister(ops[rank], buffers[rank].data()); }) ==
        all_ok);
  CHECK(on_all([&](int rank) { return tilepost_op_unregister(ops[rank], buffers[rank].data()); }) ==
        std::vector(ranks, TILEPOST_INVALID_ARGUMENT));
}

TEST_CASE("plans that cannot share the runs of an operation are refused") {
  const auto refused = [](std::vector<Range> ranges, const auto& change) {
    Ranged program(TILEPOST_GEMM_ALL_REDUCE, ranges, 2);
    change(program.plans());
    return refusal_of(program);
  };
  const auto nothing = [](std::vector<tilepost_plan_t>&) {};
  CHECK(refused(messages({96, 40, 17, 5}), nothing) == "");
  CHECK_THAT(refused(messages({96, 40, 17, 5, 2}), nothing),
             Contains("'ranged' has 5 plans for one architecture, this runtime takes at most 4"));
  for (const int64_t m : {96, 100})
    CHECK_THAT(refused(messages({96, m}), nothing),
               Contains("plan 2 for one architecture is for " + std::to_string(m) +
                        " rows, expected fewer than the 96 of the one before"));
  using Plans = std::vector<tilepost_plan_t>;
  CHECK_THAT(refused(messages({96, 40}), [](Plans& plans) { plans[1].k = 6; }),
             Contains("the k of plan 2 for one architecture is 6, that of the first 5"));
  CHECK_THAT(refused(messages({96, 40}), [](Plans& plans) { plans[1].any_m = 0; }),
             Contains("the any_m of plan 2 for one architecture is 0, that of the first 1"));
  CHECK_THAT(refused(messages({96, 40}), [](Plans& plans) { plans[0].any_m = plans[1].any_m = 0; }),
             Contains("runs whose rows are fixed, routed or left in tiles have one"));
}
