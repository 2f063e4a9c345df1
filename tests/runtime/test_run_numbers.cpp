// Numbers of runs count modulo 2^32. Checks the results around 2^31 and 2^32, and that no word
// keeps an old number until the numbers have wrapped back to it.
#include <algorithm>
#include <set>

#include "runtime/cuda/shared/flags.h"
#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/shared_team.h"
#include "tests/runtime/team.h"
#include "tilepost/internal/exchange_places.h"

using ranks::last_exchange;
using ranks::Ranks;
using ranks::whole;
using sample::Program;
using namespace tilepost::cuda;

namespace {

constexpr uint32_t kHalf = 1u << 31;

uint32_t* words_at(int rank, int64_t bytes) {
  return reinterpret_cast<uint32_t*>(last_exchange(rank).memory[rank] + bytes);
}

// Lets ranks whose runs are one kernel go on as if they had made `run` runs without a failure.
// Words that are compared by size are set as after those runs. Words that are compared for equality
// stay as they are.
void go_on_from(int count, uint32_t run) {
  for (int rank = 0; rank < count; ++rank) {
    const tilepost_exchange_t& last = last_exchange(rank);
    last.run[tilepost::kRunWord] = run;
    uint32_t* const flags = words_at(rank, last.begun) - begun_word(0, count);
    for (int i = 0; i < kFlags * kMostLanes * count; ++i)
      flags[i * TILEPOST_COUNTER_STRIDE] = last_flag_value(run);
    for (int source = 0; source < count; ++source) {
      flags[begun_word(source, count)] = run;
      flags[ended_word(source, count)] = run - 1;
    }
    // Some of a run's signals come before the counter wraps at 2^32, and some after.
    for (int i = 0; i < last.counters; ++i) {
      const uint32_t more = 0u - last.expected[i] - 7;
      flags[counter_word(i, count)] += more;
      for (const int half : {0, 1}) last.expected[half * last.counters + i] += more;
    }
    if (last.replays != nullptr) last.replays[0] = last.replays[1] = 0u - 3;
  }
}

// The words that waits compare for equality: all flags of a rank, and the numbers in its lines.
std::vector<uint32_t*> numbers_of(int rank, bool lines) {
  const tilepost_exchange_t& last = last_exchange(rank);
  std::vector<uint32_t*> all;
  for (int line = 0; line < 4 * last.most_parts; ++line)
    for (int source = 0; source < last.ranks; ++source)
      all.push_back(words_at(rank, last.arrived) + line * TILEPOST_MOST_EXCHANGING + source);
  const int64_t bytes = 2 * last.ranks * last.slot_bytes;
  for (int64_t at = 0; lines && at < bytes; at += tilepost::woven::kLineBytes)
    all.push_back(words_at(rank, last.slots + at) + 3);
  return all;
}

// Sets the flags as runs up to `run` that use no part would leave them.
void make_new(int count, uint32_t run) {
  for (int rank = 0; rank < count; ++rank) {
    const tilepost_exchange_t& last = last_exchange(rank);
    uint32_t* const flags = words_at(rank, last.arrived);
    const int of_parity = 2 * last.most_parts * TILEPOST_MOST_EXCHANGING;
    for (int i = 0; i < 2 * of_parity; ++i)
      flags[i] = run - ((run ^ static_cast<uint32_t>(i / of_parity)) & 1);
  }
}

// After how many runs that use no part every flag and line has been renewed.
uint32_t runs_to_renew(bool lines) {
  const tilepost_exchange_t& last = last_exchange(0);
  const auto flags = static_cast<uint32_t>(2 * last.most_parts);
  const auto of_slot = static_cast<uint32_t>(last.slot_bytes / tilepost::woven::kLineBytes);
  return 2 * std::max(flags, lines ? of_slot : 0);
}

struct Kind {
  const char* name;
  tilepost_shots_t shots;
  tilepost_pattern_t pattern;
};
const Kind kKinds[] = {{"one shot", TILEPOST_ONE_SHOT, kAllReduce},
                       {"two shots", TILEPOST_TWO_SHOT, kAllReduce},
                       {"lines", TILEPOST_ONE_SHOT_LINES, kAllReduce},
                       {"shares", TILEPOST_ONE_SHOT, kReduceScatter},
                       {"shares in lines", TILEPOST_ONE_SHOT_LINES, kAllToAll},
                       {"rows", TILEPOST_ONE_SHOT, TILEPOST_ALL_GATHER_GEMM}};

// Two ranks with up to 17 rows.
constexpr int kRanks = 2, kRows = 17;
void use(Program& program, const Kind& kind) {
  program.plan.any_m = 1;
  if (kind.pattern == TILEPOST_ALL_GATHER_GEMM)
    ranks::use_exchanged_rows(program, kRanks, kRows);
  else
    ranks::use_exchange(program, kind.shots, kRanks, kRows, 1, kind.pattern);
}

// Makes `times` runs. Some use all parts, and some use few.
void run_some(Ranks& all, int times) {
  for (int i = 0; i < times; ++i) i % 5 == 3 ? all.run_captured() : all.run(1, i % 3 ? 0 : 1);
}

}  // namespace

TEST_CASE("numbers of runs: each flag and line is made new, but none that the run may use") {
  constexpr int kParts = 5, kSources = 3, kLines = 6;
  constexpr int kFlagWords = 4 * kParts * TILEPOST_MOST_EXCHANGING;
  std::vector<uint32_t> flags(kFlagWords), lines(2 * kSources * kLines * 4);
  tilepost_exchange_t exchange{};
  exchange.memory[0] = reinterpret_cast<char*>(lines.data());
  exchange.slot_bytes = kLines * tilepost::woven::kLineBytes;
  exchange.ranks = kSources;
  for (const uint32_t first : {1u, kHalf - 9, 0u - 9}) {
    std::set<int64_t> seen[2];
    for (uint32_t i = 0; i < 2 * 2 * kParts + 2 * kLines + 18; ++i)
      for (int source = 0; source < kSources; ++source) {
        const uint32_t run = first + i;
        const int64_t flag =
            tilepost::flag_to_renew(flags.data(), kParts, run, source) - flags.data();
        CHECK(flag % TILEPOST_MOST_EXCHANGING == source);
        CHECK(flag / (kFlagWords / 2) == ((run + 1) & 1));
        const int64_t line = tilepost::woven::line_to_renew(exchange, run, source) - lines.data();
        CHECK(line % 4 == 3);
        CHECK(line / (4 * kLines) == ((run + 1) & 1) * kSources + source);
        seen[0].insert(flag);
        seen[1].insert(line);
      }
    CHECK(seen[0].size() == 4 * kParts * kSources);
    CHECK(seen[1].size() == 2 * kLines * kSources);
    CHECK(*seen[0].rbegin() < kFlagWords);
    CHECK(*seen[1].rbegin() < static_cast<int64_t>(lines.size()));
  }
}

TEST_CASE("numbers of runs: ranks get the same across 2^31 and 2^32") {
  const Kind kind = GENERATE(from_range(std::begin(kKinds), std::end(kKinds)));
  CAPTURE(kind.name);
  Team team;
  use(team.program, kind);
  Ranks& all = team.create(kRanks);
  run_some(all, 4);
  for (const uint32_t begin : {kHalf - 20, 0u - 20}) {
    go_on_from(kRanks, begin);
    make_new(kRanks, begin);
    run_some(all, 40);
    CHECK(last_exchange(0).run[tilepost::kRunWord] == begin + 40);
    team.check();
  }
}

// A part that was used long ago or never is used again when the numbers come to the number that its
// flag had then.
TEST_CASE("numbers of runs: a part that is used again after 2^32 runs waits for its ranks") {
  const Kind kind = GENERATE(from_range(std::begin(kKinds), std::end(kKinds)));
  const bool used = GENERATE(false, true);
  CAPTURE(kind.name, used);
  Team team;
  use(team.program, kind);
  Ranks& all = team.create(kRanks);
  all.run(8, used ? 0 : 1);
  const bool lines = kind.shots == TILEPOST_ONE_SHOT_LINES;
  const uint32_t renewing = runs_to_renew(lines), begin = 0u - 2 * renewing;
  go_on_from(kRanks, begin);
  all.run(static_cast<int>(2 * renewing) - 1, 1);
  team.check();
  for (int rank = 0; rank < kRanks; ++rank) {
    const uint32_t run = last_exchange(rank).run[tilepost::kRunWord];
    REQUIRE(run == ~0u);
    uint32_t oldest = 0;
    for (const uint32_t* number : numbers_of(rank, lines)) oldest = std::max(oldest, run - *number);
    CHECK(oldest <= renewing + 2);
  }
  all.run(12);
  team.check();
}

TEST_CASE_METHOD(SharedTeams, "numbers of runs: kinds of runs in one memory take turns at 2^32") {
  const Make others[] = {by(whole(kReduceScatter)), by(ranks::tasks(kAllReduce)),
                         by(ranks::copies(kAllReduce)), by(ranks::pushed_rows()),
                         exchange(TILEPOST_TWO_SHOT)};
  std::vector<Ranks*> teams = {&add(room()), &add(exchange(TILEPOST_ONE_SHOT))};
  for (const Make& make : others) teams.push_back(&add(make));
  REQUIRE(pieces() == 1);
  std::minstd_rand random(11);
  for (const uint32_t begin : {kHalf - 20, 0u - 20}) {
    Ranks::take_turns({{teams[2], true}, {teams[1], true}});
    check();
    go_on_from(kCount, begin);
    make_new(kCount, begin);
    std::vector<Ranks::Turn> turns;
    for (int i = 0; i < 40; ++i)
      turns.push_back({teams[random() / 7 % teams.size()], random() / 7 % 4 == 0});
    Ranks::take_turns(turns);
    check();
  }
}
