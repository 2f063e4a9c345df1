// Operations that exchange tiles in memory that they share with others, and in outputs that are
// lent or registered.
#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/one_kernel.h"
#include "tests/runtime/shared_team.h"

using Catch::Contains;
using fakes::world;
using ranks::last_exchange;
using ranks::Ranks;
using ranks::use_exchange;
using sample::count_calls;

namespace {

// How many runs of `source`, as far as rank 0 of three knows, have ended.
uint32_t ended(int source) {
  return ranks::ended(0, source);
}

}  // namespace

TEST_CASE_METHOD(SharedTeams, "exchange: operations that share memory take turns at it") {
  struct Pair {
    Make one, other;
  };
  const Pair pair = GENERATE(Pair{exchange(TILEPOST_ONE_SHOT), by(ranks::tasks(kAllReduce))},
                             Pair{exchange(TILEPOST_TWO_SHOT), by(ranks::copies(kAllReduce))},
                             Pair{exchange(TILEPOST_TWO_SHOT), by(ranks::stores(kReduceScatter))},
                             Pair{exchange(TILEPOST_ONE_SHOT), exchange(TILEPOST_TWO_SHOT, 40, 2)},
                             Pair{exchange(TILEPOST_ONE_SHOT), exchange(TILEPOST_ONE_SHOT, 16)},
                             Pair{exchange(TILEPOST_TWO_SHOT), exchange(TILEPOST_TWO_SHOT, 48)});
  add(room());
  Ranks& one = add(pair.one);
  Ranks& other = add(pair.other);
  CHECK(pieces() == 1);
  std::minstd_rand random(7);
  for (int round = 0; round < 6; ++round) {
    std::vector<Ranks::Turn> turns;
    for (int i = 0; i < 12; ++i)
      turns.push_back({random() / 7 % 2 == 0 ? &one : &other, random() / 7 % 4 == 0});
    Ranks::take_turns(turns);
  }
  check();
}

TEST_CASE_METHOD(SharedTeams,
                 "exchange: runs of one kind follow each other, those of others wait") {
  Ranks& pushes = add(room());
  Ranks& one = add(exchange(TILEPOST_ONE_SHOT));
  Ranks& other = add(exchange(TILEPOST_TWO_SHOT));
  REQUIRE(pieces() == 1);
  Ranks::take_turns({{&one}});
  const uint32_t first = last_exchange(0).kind;
  Ranks::take_turns({{&other}});
  const uint32_t second = last_exchange(0).kind;
  CHECK(first != second);
  CHECK((first & second & TILEPOST_EXCHANGES) != 0);
  const uint32_t* const run = last_exchange(0).run;
  CHECK(run[2] == second);
  // No rank has announced yet that the second run has ended. The next run does that.
  const auto last = [&] { return run[0]; };
  for (int source = 0; source < 3; ++source) CHECK(ended(source) == last() - 1);
  Ranks::take_turns({{&pushes}});
  for (int source = 0; source < 3; ++source) CHECK(ended(source) == last());
  CHECK((run[2] & TILEPOST_EXCHANGES) == 0);
  Ranks::take_turns({{&one}, {&pushes}, {&one}});
  for (int source = 0; source < 3; ++source) CHECK(ended(source) == last() - 1);
  check();
}

// Runs of the other operations may still be under way in that memory, and must not be taken for
// ended.
TEST_CASE_METHOD(SharedTeams,
                 "exchange: only the last operation settles shared memory's last run") {
  const bool exchanges_last = GENERATE(false, true);
  CAPTURE(exchanges_last);
  Ranks& pushes = add(room());
  Ranks& one = add(exchange(TILEPOST_ONE_SHOT));
  REQUIRE(pieces() == 1);
  Ranks::take_turns({{&pushes}, {&one}});
  Ranks& first = exchanges_last ? pushes : one;
  Ranks& last = exchanges_last ? one : pushes;
  world().reset_calls();
  first.destroy();
  CHECK(count_calls("settle") == 0);
  last.destroy();
  CHECK(count_calls("settle") == 3);
  CHECK(pieces() == 0);
  check();
}

// A kernel that exchanges tiles may take all SMs while it waits for the run before it to end. The
// kernel that announces this end might find no free SM if it were on another stream.
TEST_CASE_METHOD(SharedTeams,
                 "exchange: what says that a run has ended is in front of the next one") {
  const tilepost_shots_t shots = GENERATE(TILEPOST_ONE_SHOT, TILEPOST_TWO_SHOT);
  CAPTURE(static_cast<int>(shots));
  const auto ends_on = [](const std::string& stream) {
    return count_calls(("shared_end " + stream).c_str());
  };
  Ranks& before = add(room());
  world().reset_calls();
  Ranks::take_turns({{&before}});
  CHECK(ends_on("own") == 3);
  Ranks& one = add(exchange(shots));
  world().reset_calls();
  Ranks::take_turns({{&before}, {&one}, {&before}});
  CHECK(ends_on("user") == 6);
  CHECK(ends_on("own") == 0);
  check();
}

TEST_CASE_METHOD(SharedTeams, "exchange: lines keep their memory to themselves") {
  add(room());
  Ranks& one = add(exchange(TILEPOST_ONE_SHOT_LINES));
  CHECK(pieces() == 2);
  Ranks& other = add(exchange(TILEPOST_ONE_SHOT_LINES));
  CHECK(pieces() == 3);
  Ranks& shots = add(exchange(TILEPOST_TWO_SHOT, 16));
  CHECK(pieces() == 3);
  for (int round = 0; round < 5; ++round) Ranks::take_turns({{&one}, {&shots}, {&other}, {&other}});
  check();
}

// Either every second run uses the lent output (ranks.cpp), or two runs of three use a registered
// one.
TEST_CASE_METHOD(SharedTeams, "exchange: two shots store sums where the output is") {
  const bool registers = GENERATE(false, true);
  CAPTURE(registers);
  Ranks& all = add(exchange(TILEPOST_TWO_SHOT, 61, 2));
  REQUIRE(all.at(0).lent != nullptr);
  if (registers) all.register_output(61);
  check();
  int in_place = 0;
  for (int run = 0; run < 12; ++run) {
    run % 4 == 3 ? all.run_captured() : all.run(1);
    const tilepost_exchange_t& exchange = last_exchange(0);
    CHECK(exchange.out == all.at(0).found);
    for (int rank = 0; rank < 3; ++rank) {
      const bool there = exchange.there[rank] == all.at(rank).found;
      const bool wanted = all.at(rank).found != all.at(rank).out.data();
      CHECK(there == wanted);
      in_place += there ? 1 : 0;
    }
  }
  CHECK(in_place >= 3 * 6);
  all.run(30);
  check();
  if (registers) all.unregister_outputs();
  check();
}

TEST_CASE_METHOD(SharedTeams, "exchange: one shot stores nothing in outputs of others") {
  const auto shots = GENERATE(TILEPOST_ONE_SHOT, TILEPOST_ONE_SHOT_LINES);
  CAPTURE(static_cast<int>(shots));
  Ranks& all = add(exchange(shots));
  CHECK(all.at(0).lent == nullptr);
  all.register_output(61);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(all.at(rank).result == TILEPOST_UNSUPPORTED);
    all.at(rank).result = TILEPOST_OK;
    all.at(rank).registered.clear();
  }
  all.run(2);
  check();
}
