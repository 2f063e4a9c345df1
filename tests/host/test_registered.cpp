// Outputs of the caller's into which other ranks store, on the host target.
#include <algorithm>
#include <functional>
#include <thread>

#include "runtime/core/registration.h"
#include "tests/catch.h"
#include "tests/host/variants.h"

using Catch::Contains;

namespace {

constexpr int kM = 129, kN = 20;
constexpr uint16_t kMark = 0x7e11;  // not a number

Problem pushing(int ranks, uint64_t seed) {
  Problem problem =
      make({TILEPOST_GEMM_ALL_REDUCE, TILEPOST_PANEL, TILEPOST_CONSUMER_NONE,
            TILEPOST_TRANSPORT_HOST, TILEPOST_ROUTING_EVEN, TILEPOST_ACCESS_WRITE, true},
           ranks, seed);
  problem.any_m = true;
  problem.m = kM;
  problem.n = kN;
  problem.k = 5;
  return problem;
}

// Operations on `ranks` ranks, and buffers of all ranks.
struct Pushers {
  explicit Pushers(const Problem& problem)
      : ranks(problem.ranks), program(problem), comms(ranks), ops(comms, program.get(), ranks) {}

  struct Called {
    tilepost_result_t result = TILEPOST_OK;
    std::string text;
  };
  std::vector<Called> on_all(const std::function<tilepost_result_t(int)>& call) const {
    std::vector<Called> called(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        Called& mine = called[static_cast<size_t>(rank)];
        mine.result = call(rank);
        if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
      });
    for (std::thread& thread : threads) thread.join();
    return called;
  }

  // Registers one buffer of each rank.
  std::vector<Aligned>& add() {
    auto& buffers = registered.emplace_back();
    for (int rank = 0; rank < ranks; ++rank)
      buffers.emplace_back(reference::Matrix(size_t{kM} * kN + 8));
    for (const Called& called : on_all([&](int rank) {
           return tilepost_op_register(ops[rank], buffers[rank].data(), int64_t{kM} * kN * 2);
         }))
      REQUIRE(called.result == TILEPOST_OK);
    return buffers;
  }
  void remove(size_t which) {
    for (const Called& called : on_all([&](int rank) {
           return tilepost_op_unregister(ops[rank], registered[which][rank].data());
         }))
      REQUIRE(called.result == TILEPOST_OK);
  }
  std::string run(PatternRun& run) {
    std::string wrong = run.start(ops);
    for (int rank = 0; wrong.empty() && rank < ranks; ++rank)
      if (tilepost_op_synchronize(ops[rank]) != TILEPOST_OK) wrong = tilepost_last_error();
    return wrong.empty() ? run.compare() : wrong;
  }
  uint16_t* lent(int rank) const {
    tilepost_op_info_t info{};
    REQUIRE(tilepost_op_get_info(ops[rank], &info) == TILEPOST_OK);
    return static_cast<uint16_t*>(info.out);
  }
  void mark_lent() const {
    for (int rank = 0; rank < ranks; ++rank) std::fill_n(lent(rank), kN, kMark);
  }
  bool is_lent_marked() const {
    for (int rank = 0; rank < ranks; ++rank)
      for (int i = 0; i < kN; ++i)
        if (lent(rank)[i] != kMark) return false;
    return true;
  }
  std::vector<uint16_t*> outs(size_t which) {
    std::vector<uint16_t*> all;
    for (Aligned& buffer : registered[which]) all.push_back(buffer.data());
    return all;
  }

  const int ranks;
  std::vector<std::vector<Aligned>> registered;  // indexed by registration and rank; outlives `ops`
  Program program;
  const Comms comms;
  const Ops ops;
};

}  // namespace

TEST_CASE("registered outputs get what other outputs get, in turns with these") {
  const int ranks = GENERATE(2, 3, 4, 8);
  std::mt19937_64 random(ranks);
  const Problem problem = pushing(ranks, random());
  Pushers all(problem);
  all.add();
  all.add();
  for (const int m : {kM, 1, 17, 100, kM, 64, 2, 128, 7})
    for (const int kind : {0, 1, 2, 3}) {
      CAPTURE(m, kind);
      PatternRun run(problem, m, Spread::random, false, random);
      if (kind < 2) run.use_outs(all.outs(kind));
      if (kind == 2) run.use_lent();
      all.mark_lent();
      REQUIRE(all.run(run) == "");
      // Sums land in one place and in no other.
      CHECK(all.is_lent_marked() == (kind < 2));
    }
  all.remove(0);
  for (const size_t which : {1, 0, 1}) {
    PatternRun run(problem, kM, Spread::random, false, random);
    run.use_outs(all.outs(which));
    REQUIRE(all.run(run) == "");
  }
}

TEST_CASE("registered outputs have no use where nothing is pushed into an output") {
  for (const Variant& variant : all_variants()) {
    const Problem problem = make(variant, 2, 1);
    INFO(describe(problem));
    const Program program(problem);
    const Comms comms(2);
    const Ops ops(comms, program.get(), 2);
    if (variant.pushes && variant.pattern == TILEPOST_GEMM_ALL_REDUCE &&
        variant.consumer == TILEPOST_CONSUMER_NONE)
      continue;
    Aligned buffer(reference::Matrix(size_t{1} << 16));
    CHECK(tilepost_op_register(ops[1], buffer.data(), 1 << 17) == TILEPOST_UNSUPPORTED);
    CHECK_THAT(tilepost_last_error(), Contains("ranks store nothing in each other's outputs"));
    CHECK(tilepost_op_unregister(ops[1], buffer.data()) == TILEPOST_UNSUPPORTED);
  }
}

TEST_CASE("what one rank registers wrongly all are told of, and go on") {
  std::mt19937_64 random(7);
  const Problem problem = pushing(3, 1);
  Pushers all(problem);
  std::vector<Aligned> buffers;
  for (int rank = 0; rank < 3; ++rank) buffers.emplace_back(reference::Matrix(size_t{kM} * kN + 8));
  constexpr int64_t kBytes = int64_t{kM} * kN * 2;
  const struct {
    int64_t skip, bytes;
    const char* own;
    const char* others;
  } cases[] = {{1, kBytes, "buffer", "rank 2's buffer was refused"},
               {0, kN * 2 - 1, "bytes is 39, and the output", "rank 2's buffer was refused"},
               {0, kBytes - 2, "the buffer has 5160 bytes on rank 0 and 5158 on rank 2",
                "the buffer has 5158 bytes on rank 2 and 5160 on rank "}};
  const auto check = [](const std::vector<Pushers::Called>& called, const char* own,
                        const char* others) {
    for (size_t rank = 0; rank < called.size(); ++rank) {
      CHECK(called[rank].result == TILEPOST_INVALID_ARGUMENT);
      CHECK_THAT(called[rank].text, Contains(rank == 2 ? own : others));
    }
  };
  for (const auto& wrong : cases)
    check(all.on_all([&](int rank) {
      const bool is_it = rank == 2;
      return tilepost_op_register(all.ops[rank], buffers[rank].data() + (is_it ? wrong.skip : 0),
                                  is_it ? wrong.bytes : kBytes);
    }),
          wrong.own, wrong.others);
  all.add();
  all.add();
  check(all.on_all([&](int rank) {
    return tilepost_op_unregister(all.ops[rank], all.registered[rank == 2 ? 1 : 0][rank].data());
  }),
        "number 1 of those registered on rank 0 and number 2 on rank 2",
        "number 2 of those registered on rank 2 and number 1 on rank ");
  check(all.on_all([&](int rank) {
    return rank == 2 ? tilepost_op_unregister(all.ops[rank], all.registered[0][rank].data())
                     : tilepost_op_register(all.ops[rank], buffers[rank].data(), kBytes);
  }),
        "rank 0 has called tilepost_op_register and rank 2 tilepost_op_unregister",
        "rank 2 has called tilepost_op_unregister and rank ");
  PatternRun run(problem, kM, Spread::random, false, random);
  run.use_outs(all.outs(1));
  CHECK(all.run(run) == "");
}

TEST_CASE("an out inside of a registered one is refused, and another one ends the run") {
  std::mt19937_64 random(9);
  const Problem problem = pushing(3, 1);
  Pushers all(problem);
  all.add();
  all.add();
  PatternRun run(problem, kM, Spread::random, false, random);
  std::vector<uint16_t*> outs = all.outs(0);
  for (uint16_t*& out : outs) out += 8;
  run.use_outs(outs);
  CHECK_THAT(run.start(all.ops), Contains("out lies 16 bytes into the buffer"));
  outs = all.outs(0);
  outs[1] = all.outs(1)[1];
  run.use_outs(outs);
  CHECK_THAT(all.run(run), Contains("out is registered buffer ") && Contains("on rank 1") &&
                               Contains("pass the same one on every rank, or none"));
}

TEST_CASE("registering does not wait for a run that has failed, nor longer than the deadline") {
  const Problem problem = pushing(2, 1);
  const Program program(problem);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2, 0.05);
  Aligned buffer(reference::Matrix(size_t{kM} * kN + 8));
  CHECK(tilepost_op_register(ops[0], buffer.data(), int64_t{kM} * kN * 2) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("registration 1 of") && Contains("rank 1 did not"));
  CHECK(tilepost_op_register(ops[0], buffer.data(), int64_t{kM} * kN * 2) == TILEPOST_ABORTED);
}

TEST_CASE("registered: so many buffers at a time and no more") {
  constexpr size_t kStride = 24;  // elements; a row has only kN
  const Pushers pushers(pushing(2, 3));
  std::vector<Aligned> memory;
  for (int rank = 0; rank < 2; ++rank)
    memory.emplace_back(reference::Matrix((tilepost::kMostRegistered + 1) * kStride));
  const auto called = pushers.on_all([&](int rank) {
    tilepost_result_t result = TILEPOST_OK;
    size_t added = 0;
    while (result == TILEPOST_OK && added <= tilepost::kMostRegistered)
      result =
          tilepost_op_register(pushers.ops[rank], memory[rank].data() + kStride * added++, kN * 2);
    return added == tilepost::kMostRegistered + 1 ? result : TILEPOST_OK;
  });
  for (const Pushers::Called& mine : called) {
    CHECK(mine.result == TILEPOST_UNSUPPORTED);
    CHECK_THAT(mine.text, Contains("256 buffers are registered with the operation, the most"));
  }
}
