// Transport host_copies, with ranks as threads: every element is right, in any number and mixture
// of runs; ranks that do not come are named, and no rank ends a run with data that was never sent.
#include <sys/shm.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/cuda/shared/host/host_rings.h"
#include "runtime/schedule/run_map.h"
#include "tests/catch.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::Ranks;
using ranks::through_host;
using sample::count_calls;
using tilepost::cuda::HostRings;
using tilepost::cuda::RingShape;

namespace {

constexpr double kDeadline = 0.3;

// Rings of small chunks, as long as this object lives, so that messages have many of them.
class SmallRings {
 public:
  explicit SmallRings(int64_t chunk_bytes, int chunks = 2) {
    HostRings::usual_shape().chunk_bytes = chunk_bytes;
    HostRings::usual_shape().chunks = chunks;
  }
  SmallRings(const SmallRings&) = delete;
  SmallRings& operator=(const SmallRings&) = delete;
  ~SmallRings() { HostRings::usual_shape() = RingShape{}; }
};

// The segments of shared memory that this process has attached, or has made.
int segments() {
  std::ifstream file("/proc/sysvipc/shm");
  const std::string own = std::to_string(getpid());
  int found = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, id, mode, size, creator;
    words >> key >> id >> mode >> size >> creator;
    found += creator == own;
  }
  return found;
}

const std::vector<tilepost_pattern_t> kPatterns = {kAllReduce, kReduceScatter, kAllToAll,
                                                   kAllGather, kAllToAllGemm};

}  // namespace

TEST_CASE("host copies: every rank gets what it should, run after run, captured or not") {
  const int count = GENERATE(2, 3, 4);
  const auto pattern = GENERATE(from_range(kPatterns));
  // Chunks of a few elements, of about a message, and of more than any message.
  for (const int64_t chunk : {64, 1024, 65536})
    for (const int64_t m : {1, 5, 7, 16, 21, 48, 61}) {
      CAPTURE(static_cast<int>(pattern), count, chunk, m);
      const SmallRings small(chunk, chunk == 1024 ? 1 : 3);
      Team team;
      ranks::use(team.program, through_host(pattern), count, m);
      Ranks& all = team.create(count);
      CHECK(world().live_pins > 0);
      all.run_mixed();
      team.check();
    }
  CHECK(segments() == 0);
}

TEST_CASE("host copies: chunks of the usual size carry whole messages") {
  const auto pattern = GENERATE(from_range(kPatterns));
  CAPTURE(static_cast<int>(pattern));
  Team team;
  ranks::use(team.program, through_host(pattern), 2, 64);
  Ranks& all = team.create(2);
  all.run_mixed();
  team.check();
}

TEST_CASE("host copies: one operation serves any number of rows") {
  const auto pattern = GENERATE(from_range(kPatterns));
  const int count = GENERATE(2, 3);
  CAPTURE(static_cast<int>(pattern), count);
  const SmallRings small(128);
  Team team;
  ranks::use(team.program, through_host(pattern), count, 64);
  team.program.plan.any_m = 1;
  team.program.finish();
  Ranks& all = team.create(count);
  for (const int64_t m : {64, 1, 33, 5, 64, 2, 17}) all.run(1, m);
  team.check();
}

TEST_CASE("host copies: rows go where routes say, and some ranks get none") {
  const auto pattern = GENERATE(kAllToAll, kAllToAllGemm);
  const auto routing = GENERATE(TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS);
  const int count = GENERATE(2, 3);
  CAPTURE(static_cast<int>(pattern), static_cast<int>(routing), count);
  const SmallRings small(256);
  Team team;
  ranks::use(team.program, through_host(pattern), count, 24, routing);
  Ranks& all = team.create(count);
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    all.route(seed);
    all.run_mixed();
    team.check();
  }
}

TEST_CASE("host copies: beside neighbours the kernel is launched for each group") {
  const auto pattern = GENERATE(kAllGather, kAllToAllGemm, kReduceScatter);
  CAPTURE(static_cast<int>(pattern));
  const SmallRings small(256);
  Team team;
  ranks::use(team.program, through_host(pattern, true), 3, 48);
  Ranks& all = team.create(3);
  all.run_mixed();
  team.check();
}

TEST_CASE_METHOD(Team, "host copies: a rank that does not come is named within the deadline") {
  const auto pattern = GENERATE(from_range(kPatterns));
  CAPTURE(static_cast<int>(pattern));
  const SmallRings small(256);
  ranks::use(program, through_host(pattern), 3, 48);
  Ranks& all = create(3, kDeadline);
  all.run(2);
  check();
  world().patience = std::chrono::milliseconds(50);
  all.run_but(1);
  int timeouts = 0;
  for (const int rank : {0, 2}) {
    INFO(all.at(rank).text);
    // The rank that is late first tells the other one, which need not wait for its own deadline.
    const bool late = all.at(rank).result == TILEPOST_TIMEOUT;
    timeouts += late;
    CHECK((late || all.at(rank).result == TILEPOST_ABORTED));
    if (late)
      CHECK_THAT(all.at(rank).text,
                 Contains("run 3") && (Contains("rank 1 did not send all of group") ||
                                       Contains("rank 1 did not take all of group")));
    else
      CHECK_THAT(all.at(rank).text, Contains("has failed, because rank 1 did not arrive"));
  }
  CHECK(timeouts > 0);
  CHECK(all.wrong() == 0);
  all.destroy();
  CHECK(world().live_pins == 0);
  CHECK(segments() == 0);
}

TEST_CASE("host copies: no rank ends a run well that another rank has broken off") {
  const auto pattern = GENERATE(from_range(kPatterns));
  const SmallRings small(256);
  int broken = 0;
  for (const int at : {12, 20, 28, 35, 45}) {
    CAPTURE(static_cast<int>(pattern), at);
    Team team;
    ranks::use(team.program, through_host(pattern), 3, 48);
    Ranks& all = team.create(3, 1);
    all.run(2);
    team.check();
    world().patience = std::chrono::milliseconds(100);
    world().reset_calls();
    all.on_all([&](int rank, ranks::Rank& mine) {
      ranks::self().run = 3;
      if (rank == 1) {
        const std::lock_guard lock(world().mutex);
        world().calls = 0;
        world().fails_on = std::this_thread::get_id();
        world().fail_at = at;
      }
      if (all.start(mine, 0) != TILEPOST_OK) return;
      mine.result = tilepost_op_synchronize(mine.setup.op);
      mine.text = tilepost_last_error();
    });
    world().fail_at = 0;
    const bool failed = all.at(1).result != TILEPOST_OK;
    broken += failed;
    // A run that fails before anything of it can reach the other ranks is as if it had not been
    // called.
    const bool begun = failed && all.at(1).text.starts_with("rank 1: run 3");
    for (const int rank : {0, 2}) {
      INFO(all.at(rank).text);
      CHECK((all.at(rank).result != TILEPOST_OK) == failed);
      if (begun) CHECK_THAT(all.at(rank).text, Contains("has failed"));
    }
  }
  CHECK(broken >= 3);
}

// Those who only wait for the stream must not be told less than those who ask the operation.
TEST_CASE("host copies: not even the stream of a run ends when another rank has broken it off") {
  const auto pattern = GENERATE(from_range(kPatterns));
  CAPTURE(static_cast<int>(pattern));
  const SmallRings small(256);
  Team team;
  ranks::use(team.program, through_host(pattern), 2, 48);
  Ranks& all = team.create(2, 0);  // without a deadline nobody watches
  all.run(2);
  team.check();
  world().patience = std::chrono::milliseconds(50);
  bool ended = false;
  all.on_all([&](int rank, ranks::Rank& mine) {
    ranks::self().run = 3;
    if (rank == 1) {
      const std::lock_guard lock(world().mutex);
      world().calls = 0;
      world().fails_on = std::this_thread::get_id();
      world().fail_at = 25;
    }
    all.start(mine, 0);
    if (rank != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ended = cudaStreamQuery(mine.user) == cudaSuccess;
    mine.result = tilepost_op_status(mine.setup.op);
  });
  world().fail_at = 0;
  REQUIRE_THAT(all.at(1).text, Catch::StartsWith("rank 1: run 3"));
  CHECK_FALSE(ended);
  CHECK(all.at(0).result == TILEPOST_ABORTED);
}

TEST_CASE_METHOD(Team,
                 "host copies: all runs use the same chunks, so that graphs can be replayed") {
  const auto pattern = GENERATE(from_range(kPatterns));
  CAPTURE(static_cast<int>(pattern));
  const SmallRings small(256, 3);
  ranks::use(program, through_host(pattern), 2, 61);
  Ranks& all = create(2);
  all.run(1);
  const auto waits_of = [&](const std::function<void()>& run) {
    world().reset_calls();
    run();
    std::multiset<const void*> waits(world().waits.begin(), world().waits.end());
    CHECK(waits.size() > 4);
    return waits;
  };
  const auto first = waits_of([&] { all.run(1); });
  CHECK(waits_of([&] { all.run(1); }) == first);
  CHECK(waits_of([&] { all.run_captured(); }) == first);
  check();
}

TEST_CASE_METHOD(Team, "host copies: parts are added in the order of ranks, on every rank") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter);
  const SmallRings small(256);
  ranks::use(program, through_host(pattern), 3, 48);
  Ranks& all = create(3);
  world().reset_calls();
  all.run(1);
  check();
  const int64_t send = tilepost::most_sizes(program.plan).send;
  const int64_t stride = tilepost::host_part_stride(program.plan, send) * 2;  // bytes
  std::map<int, int> sums;  // by the place of the rank's own part, which is no block
  for (const fakes::Sum& sum : world().sums) {
    REQUIRE(sum.parts.size() == 3);
    const auto apart = [&](int one, int other) {
      return static_cast<const char*>(sum.parts[other]) - static_cast<const char*>(sum.parts[one]);
    };
    int own = -1;
    for (int place = 0; place < 3; ++place)
      if (apart(place == 0 ? 1 : 0, place == 2 ? 1 : 2) == stride) own = place;
    ++sums[own];
  }
  CHECK(sums.size() == 3);
  CHECK(sums.count(-1) == 0);
  CHECK(sums[0] == sums[1]);
  CHECK(sums[1] == sums[2]);
}

TEST_CASE("host copies: creation says why there is no pinned memory, on every rank") {
  const int bad = GENERATE(0, 1, 2);
  CAPTURE(bad);
  OnFakes fresh;
  sample::Program program;
  ranks::use(program, through_host(kReduceScatter), 3, 48);
  const SmallRings small(256);
  Ranks all(program, 3, kDeadline);
  world().cannot_pin = {bad};
  all.create();
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(all.at(rank).result == TILEPOST_OUT_OF_MEMORY);
    if (rank == bad)
      CHECK_THAT(all.at(rank).text, Contains("could not pin") && Contains("ulimit -l") &&
                                        Contains("transport 'nccl'"));
    else
      CHECK_THAT(all.at(rank).text, Contains("rank " + std::to_string(bad) + " could not"));
  }
  all.destroy();
  CHECK(segments() == 0);
}

TEST_CASE_METHOD(Team, "host copies: after the first run of a kind no run allocates") {
  const auto pattern = GENERATE(from_range(kPatterns));
  CAPTURE(static_cast<int>(pattern));
  const SmallRings small(512);
  ranks::use(program, through_host(pattern), 2, 48);
  Ranks& all = create(2);
  all.run(1);
  const int before = world().memory_calls;
  all.run_mixed();
  check();
  CHECK(world().memory_calls == before);
}
