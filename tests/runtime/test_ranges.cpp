// Operations with several plans, each for a range of m. Ranks are threads and have data.
#include <algorithm>

#include "runtime/core/plan_hash.h"
#include "runtime/core/ranges.h"
#include "tests/catch.h"
#include "tests/runtime/shared_team.h"

using Catch::Contains;
using fakes::world;
using ranks::Ranks;
using sample::count_calls;

namespace {

constexpr int kCount = 3;
using Make = SharedTeams::Make;

// The plans of several programs in one program. The plan for the most rows comes first.
class Ranged {
 public:
  explicit Ranged(const std::vector<Make>& makes) {
    for (const Make& make : makes) {
      sample::Program& program = *programs_.emplace_back(std::make_unique<sample::Program>());
      make(program);
      program.plan.any_m = 1;
      program.finish();
      plans_.push_back(program.plan);
    }
    first().program = {TILEPOST_ABI_VERSION, "ranged", static_cast<int32_t>(plans_.size()),
                       plans_.data()};
  }

  sample::Program& first() { return *programs_.front(); }
  std::vector<tilepost_plan_t>& plans() { return plans_; }
  std::vector<const sample::Program*> fewer() const {
    std::vector<const sample::Program*> found;
    for (size_t i = 1; i < programs_.size(); ++i) found.push_back(programs_[i].get());
    return found;
  }

 private:
  std::vector<std::unique_ptr<sample::Program>> programs_;
  std::vector<tilepost_plan_t> plans_;
};

class RangedTeam : public OnFakes {
 public:
  ~RangedTeam() noexcept(false) {
    if (all_ != nullptr) all_->destroy();
  }

  Ranks& create(const std::vector<Make>& makes, double deadline_seconds = 5, bool shares = false) {
    program_ = std::make_unique<Ranged>(makes);
    all_ = std::make_unique<Ranks>(program_->first(), kCount, deadline_seconds);
    all_->fewer = program_->fewer();
    all_->shares = shares;
    all_->create();
    check();
    return *all_;
  }
  void check() const {
    INFO(all_->text());
    REQUIRE(all_->all_ok());
    CHECK(all_->wrong() == 0);
  }
  Ranged& program() { return *program_; }
  static int pieces() { return world().live_pools / kCount; }

 private:
  std::unique_ptr<Ranged> program_;
  std::unique_ptr<Ranks> all_;
};

Make exchange(tilepost_shots_t shots, int64_t m,
              tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE) {
  return
      [=](sample::Program& program) { ranks::use_exchange(program, shots, kCount, m, 1, pattern); };
}
Make by(const ranks::Way& way, int64_t m) {
  return SharedTeams::by(way, m);
}

// Three plans: `way` for many rows, an exchange of few rows in the memory of `way`, and lines of
// very few rows, which have memory of their own.
std::vector<Make> three(const ranks::Way& way, tilepost_shots_t shots = TILEPOST_ONE_SHOT) {
  return {by(way, 256), exchange(shots, 61, way.pattern),
          exchange(TILEPOST_ONE_SHOT_LINES, 17, way.pattern)};
}

// Numbers of rows around the ends of the ranges.
constexpr int64_t kRows[] = {1, 16, 17, 18, 60, 61, 62, 255, 256, 0};

// Makes an eager run of every number of rows, because a captured run cannot make its table.
void see_all(Ranks& all) {
  for (const int64_t m : kRows) all.run(1, m);
}

std::vector<Ranks::Turn> turns_of(Ranks& all, std::minstd_rand& random, int count) {
  std::vector<Ranks::Turn> turns;
  for (int i = 0; i < count; ++i) {
    int64_t m = kRows[random() / 7 % std::size(kRows)];
    const bool any = m == 0;
    if (any) m = 1 + random() / 7 % 256;
    turns.push_back({&all, !any && random() / 7 % 4 == 0, m});
  }
  return turns;
}

}  // namespace

// The operations of a family find memory that the first of them has made.
TEST_CASE_METHOD(RangedTeam, "ranges: what they take together is known before") {
  Ranks& all = create(three(ranks::tasks(kAllReduce)));
  for (int rank = 0; rank < kCount; ++rank) {
    tilepost_memory_t planned{sizeof planned, 0, 0, 0}, taken = planned;
    const sample::Setup& setup = all.at(rank).setup;
    CHECK(tilepost_program_memory(setup.comm, &program().first().program, nullptr, &planned) ==
          TILEPOST_OK);
    CHECK(tilepost_op_memory(setup.op, &taken) == TILEPOST_OK);
    CHECK(planned.device_bytes == taken.device_bytes);
    CHECK(planned.shared_bytes == taken.shared_bytes);
    CHECK(planned.pinned_bytes == taken.pinned_bytes);
  }
  check();
}

TEST_CASE_METHOD(RangedTeam, "ranges: runs of all plans follow each other in the same memory") {
  struct Case {
    std::vector<Make> makes;
    int pieces;
  };
  const Case of = GENERATE(
      Case{three(ranks::whole(kAllReduce), TILEPOST_TWO_SHOT), 2},
      Case{three(ranks::tasks(kAllReduce)), 2}, Case{three(ranks::copies(kAllReduce)), 2},
      Case{three(ranks::stores(kReduceScatter)), 2}, Case{three(ranks::whole(kAllToAll)), 2},
      Case{{exchange(TILEPOST_TWO_SHOT, 256), exchange(TILEPOST_TWO_SHOT, 61),
            exchange(TILEPOST_ONE_SHOT, 17)},
           1});
  const bool shares = GENERATE(false, true);
  Ranks& all = create(of.makes, 5, shares);
  CHECK(pieces() == of.pieces);
  see_all(all);
  std::minstd_rand random(7);
  for (int round = 0; round < 6; ++round) Ranks::take_turns(turns_of(all, random, 12));
  check();
}

TEST_CASE_METHOD(RangedTeam, "ranges: a registered output is that of all ranges") {
  Ranks& all = create(three(ranks::whole(kAllReduce), TILEPOST_TWO_SHOT));
  REQUIRE(all.at(0).lent != nullptr);
  all.register_output(256, 2);
  check();
  see_all(all);
  std::minstd_rand random(3);
  for (int round = 0; round < 4; ++round) Ranks::take_turns(turns_of(all, random, 9));
  check();
  all.unregister_outputs();
  check();
  all.run(3, 61);
  check();
}

TEST_CASE_METHOD(RangedTeam, "ranges: no run allocates") {
  Ranks& all = create(three(ranks::whole(kAllReduce)));
  world().reset_calls();
  for (const int64_t m : {256, 61, 17, 1, 62, 18}) all.run(2, m);
  for (const char* call : {"cudaMalloc", "cudaHostAlloc", "cudaFree"})
    CHECK(count_calls(call) == 0);
  check();
}

TEST_CASE_METHOD(RangedTeam, "ranges: another m on one rank is named on all") {
  leaves_memory();
  struct Rows {
    int64_t mine, theirs;
  };
  const Rows rows = GENERATE(Rows{256, 255}, Rows{256, 61}, Rows{61, 60}, Rows{61, 17},
                             Rows{17, 16}, Rows{16, 256});
  Ranks& all = create(three(ranks::whole(kAllReduce)), 0.2);
  all.run(1, 61);
  all.run(1, 256);
  check();
  all.on_all([&](int rank, ranks::Rank& mine) {
    ranks::self().run = 3;
    if (all.start(mine, rank == 1 ? rows.theirs : rows.mine) != TILEPOST_OK) return;
    mine.result = tilepost_op_synchronize(mine.setup.op);
    if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
  });
  int told = 0;
  for (int rank = 0; rank < kCount; ++rank) {
    const ranks::Rank& mine = all.at(rank);
    INFO(rank << ": " << mine.text);
    CHECK(mine.result != TILEPOST_OK);
    if (mine.result != TILEPOST_INVALID_ARGUMENT) continue;
    ++told;
    CHECK_THAT(mine.text, Contains("run 3: m is ") &&
                              Contains(std::to_string(rows.mine) + " on rank") &&
                              Contains(std::to_string(rows.theirs) + " on rank") &&
                              Contains("pass the same m on every rank"));
  }
  CHECK(told > 0);
  // The error of later calls is the same in every range.
  all.on_all([&](int, ranks::Rank& mine) {
    if (all.start(mine, 61) == TILEPOST_OK) return;
    mine.result = tilepost_op_status(mine.setup.op);
  });
  for (int rank = 0; rank < kCount; ++rank) CHECK_THAT(all.at(rank).text, Contains("aborted"));
}

TEST_CASE_METHOD(RangedTeam, "ranges: a rank that does not come is named in any of them") {
  leaves_memory();
  const int64_t m = GENERATE(256, 61, 17);
  Ranks& all = create(three(ranks::whole(kAllReduce)), 0.2);
  all.run(2, 61);
  all.run(1, 17);
  check();
  all.on_all([&](int rank, ranks::Rank& mine) {
    if (rank == 2) return;
    ranks::self().run = 4;
    if (all.start(mine, m) != TILEPOST_OK) return;
    mine.result = tilepost_op_synchronize(mine.setup.op);
    if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
  });
  bool named = false;
  for (int rank = 0; rank < 2; ++rank) {
    INFO(all.at(rank).text);
    CHECK(all.at(rank).result != TILEPOST_OK);
    named |= all.at(rank).text.find("rank 2") != std::string::npos &&
             all.at(rank).text.find("run 4") != std::string::npos;
  }
  CHECK(named);
}

// This also holds on other streams and for plans that share no memory.
TEST_CASE_METHOD(OnFakes, "ranges: a run waits for another plan's on another stream") {
  const auto few = [](sample::Program& program) {
    program.plan.map.m = 256;
    program.cuts = {2};
  };
  Ranged program({[](sample::Program&) {}, few});
  sample::Setup setup;
  REQUIRE(setup.create(program.first()) == TILEPOST_OK);
  CUstream_st* const one = fakes::user_stream("one");
  CUstream_st* const two = fakes::user_stream("two");
  const auto waits = [&](CUstream_st* stream, const char* name, int64_t m) {
    world().reset_calls();
    REQUIRE(sample::run_on(setup, stream, m) == TILEPOST_OK);
    return sample::enqueued().front() == std::string("cudaStreamWaitEvent ") + name;
  };
  CHECK_FALSE(waits(one, "one", 512));
  CHECK_FALSE(waits(one, "one", 256));
  CHECK(waits(two, "two", 512));
  CHECK(waits(one, "one", 256));
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE("ranges: the hash is over all plans in their order, of one its own") {
  sample::Program one, other;
  other.plan.map.m = 256;
  using tilepost::hash_plans;
  CHECK(hash_plans({&one.plan}) == tilepost::hash_plan(one.plan));
  const uint64_t both = hash_plans({&one.plan, &other.plan});
  CHECK(both != hash_plans({&one.plan}));
  CHECK(both != hash_plans({&other.plan, &one.plan}));
  other.plan.shots = TILEPOST_TWO_SHOT;
  CHECK(both != hash_plans({&one.plan, &other.plan}));
}
