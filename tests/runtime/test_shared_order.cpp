// Transports whose ranks access each other's memory: the calls on one rank's streams come in the
// order that the others' reads and stores need, captured or not.
#include <algorithm>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tests/runtime/ranks.h"

using fakes::world;
using order::Order;
using ranks::copies;
using ranks::launches;
using ranks::pushed_rows;
using ranks::stores;
using ranks::tasks;
using ranks::Way;
using sample::count_calls;

namespace {

// One run on rank 1 of three. Each rank has 16 rows in groups of 4, 4 and 8.
class OneRun : public OnFakes {
 public:
  sample::Program program;

  Order run(const Way& way, bool captured) {
    ranks::use(program, way, 3, 48);
    return ranks::order_of_run(program, captured);
  }
};

// Checks that the run's end and the caller's stream follow all `calls`, and that a capture leaves
// nothing behind.
void check_end(const Order& order, const std::vector<const char*>& calls, bool captured) {
  for (const char* call : calls) {
    CAPTURE(call);
    CHECK(order.all_before(call, "shared_end"));
    CHECK(order.joined(call));
  }
  if (captured) CHECK(order.joined("shared_end"));
}

// Checks that one kernel posts `groups`. The string has the groups, and for each group the ranks
// that must have announced it, a bit for each rank.
void check_posted(const Order& order, const std::string& groups) {
  REQUIRE(order.count("arrivals") == 1);
  CHECK(order.count("post") == 0);
  const auto call = std::ranges::find_if(
      world().log, [](const std::string& line) { return line.starts_with("arrivals "); });
  CHECK_THAT(*call, Catch::EndsWith(groups));
}

}  // namespace

TEST_CASE_METHOD(OneRun,
                 "copy_engine: parts are pulled when they are announced, and added when they are "
                 "there") {
  const auto pattern = GENERATE(kReduceScatter, kAllReduce);
  const bool all = pattern == kAllReduce;
  const bool captured = GENERATE(false, true);
  CAPTURE(all, captured);
  const Order order = run(copies(pattern), captured);  // three groups, two lanes
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.all_before("shared_begin", "wait"));
  REQUIRE(order.count("wait") == 3);
  REQUIRE(order.count("sum") == 3);
  REQUIRE(order.count("announce_and_wait") == (all ? 6 : 3));
  REQUIRE(order.count("cudaMemcpyAsync") == (all ? 12 : 6));
  const int announcements = all ? 2 : 1;  // for each group, each followed by two copies
  for (int g = 0; g < 3; ++g) {
    CAPTURE(g);
    const int announced = announcements * g;
    CHECK(order.before("wait", g, "announce_and_wait", announced));
    for (int copy = 2 * announced; copy < 2 * announced + 2; ++copy) {
      CHECK(order.before("announce_and_wait", announced, "cudaMemcpyAsync", copy));
      CHECK(order.before("cudaMemcpyAsync", copy, "sum", g));
      if (!all) continue;
      CHECK(order.before("sum", g, "announce_and_wait", announced + 1));
      CHECK(order.before("announce_and_wait", announced + 1, "cudaMemcpyAsync", copy + 2));
    }
    // The copies from all peers run at once.
    CHECK_FALSE(
        order.before("cudaMemcpyAsync", 2 * announced, "cudaMemcpyAsync", 2 * announced + 1));
  }
  // The lanes overlap.
  CHECK_FALSE(order.before("sum", 0, "announce_and_wait", announcements));
  check_end(order, {"sum", "cudaMemcpyAsync", "wait"}, captured);
}

TEST_CASE_METHOD(OneRun,
                 "copy_engine: copies of an AllGather follow each other, and a post its own") {
  const bool captured = GENERATE(false, true);
  CAPTURE(captured);
  // Five groups: the own rows, then 4, 4 and 8 rows of one other rank, then 16 rows.
  const Order order = run(copies(kAllGather), captured);
  check_posted(order, "groups 0+5 sources 0 4 4 4 1");
  // Own rows, four groups, the caller's memory.
  REQUIRE(order.count("cudaMemcpyAsync") == 1 + 4 + 1);
  CHECK(order.all_before("shared_begin", "cudaMemcpyAsync"));
  CHECK(order.before("cudaMemcpyAsync", 0, "gemm", 0));
  CHECK(order.count("announce") == 4);
  CHECK(order.all_before("shared_begin", "arrivals"));
  CHECK(order.before("cudaMemcpyAsync", 0, "arrivals", 0));
  CHECK(order.before("arrivals", 0, "cudaMemcpyAsync", 5));
  for (int copy = 1; copy < 5; ++copy) {
    CAPTURE(copy);
    // The copies that serve other ranks do not wait for arrivals.
    CHECK_FALSE(order.before("arrivals", 0, "cudaMemcpyAsync", copy));
    CHECK_FALSE(order.before("arrivals", 0, "announce", copy - 1));
    CHECK(order.before("cudaMemcpyAsync", copy, "announce", copy - 1));
    CHECK(order.before("cudaMemcpyAsync", copy, "cudaMemcpyAsync", 5));
    if (copy > 1) CHECK(order.before("cudaMemcpyAsync", copy - 1, "cudaMemcpyAsync", copy));
    CHECK(order.before("cudaMemcpyAsync", copy, "shared_end", 0));
  }
  CHECK(order.all_before("arrivals", "shared_end"));
  CHECK(order.joined("cudaMemcpyAsync"));
  if (captured) CHECK(order.joined("shared_end"));
}

// The first launch waits for announcements of other ranks, which wait in the same way for this
// rank's. The second launch follows the first one in its stream. So the second launch must not be
// in front of this rank's announcements in a device queue.
TEST_CASE_METHOD(OneRun,
                 "copy_engine: a launch that posts comes behind all that the last waits for") {
  constexpr int kRanks = 3, kTiles = 40, kGroups = 41, kFirst = 32;
  ranks::use(program, copies(kAllGather), kRanks, kRanks * 4 * kTiles);
  std::vector<int32_t> cuts{0};
  for (int cut = 2; cut <= (kRanks - 1) * kTiles; cut += 2) cuts.push_back(cut);
  program.use(kAllGather, kRanks, TILEPOST_DIVISION_ARRIVALS, cuts);
  ranks::order_of_run(program, false);
  std::vector<int> announced;  // how many come before each launch
  int count = 0;
  for (const std::string& line : world().log) {
    if (line.starts_with("announce ")) ++count;
    if (line.starts_with("arrivals ")) announced.push_back(count);
  }
  CHECK(announced == std::vector<int>{1, kFirst});
  CHECK(count == kGroups - 1);
}

TEST_CASE_METHOD(OneRun,
                 "copy_engine: a group is launched behind its rows, and beside those of the next") {
  const bool captured = GENERATE(false, true);
  CAPTURE(captured);
  // Five groups: the own rows, then 4, 4 and 8 rows of one other rank, then 16 rows.
  const Order order = run(launches(kAllGather), captured);
  constexpr int kArrivals = 4;
  REQUIRE(order.count("gemm") == 1 + kArrivals);
  // The GEMM does not wait for the first one, which is of own rows.
  REQUIRE(order.count("arrivals") == 1 + kArrivals);
  REQUIRE(order.count("cudaMemcpyAsync") == 1 + kArrivals + 1);
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.before("cudaMemcpyAsync", 0, "gemm", 0));
  for (int arrival = 0; arrival < kArrivals; ++arrival) {
    CAPTURE(arrival);
    CHECK(order.before("arrivals", arrival + 1, "gemm", arrival + 1));
    CHECK_FALSE(order.before("arrivals", arrival + 1, "gemm", arrival));
    // Neither the next arrival nor what this rank sends waits for a launch.
    for (const char* call : {"arrivals", "announce", "cudaMemcpyAsync"})
      CHECK_FALSE(order.before("gemm", 0, call, arrival));
  }
  check_end(order, {"gemm", "arrivals", "cudaMemcpyAsync"}, captured);
  CHECK(world().view.num_tiles > 0);
}

TEST_CASE_METHOD(OneRun,
                 "peer: parts are added when all ranks have stored them, and pulled when they are "
                 "added") {
  const bool captured = GENERATE(false, true);
  CAPTURE(captured);
  program.plan.pace = 77;
  const Order order = run(stores(kAllReduce), captured);  // three groups, two lanes
  CHECK(world().view.pace == 77);
  CHECK(world().view.share_rows == 16);
  CHECK(reinterpret_cast<uintptr_t>(world().view.out_maps) % 64 == 0);
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.all_before("shared_begin", "wait_stored"));
  REQUIRE(order.count("wait") == 0);
  REQUIRE(order.count("wait_stored") == 3);
  REQUIRE(order.count("sum") == 3);
  REQUIRE(order.count("announce_and_wait") == 3);
  REQUIRE(order.count("cudaMemcpyAsync") == 6);
  for (int g = 0; g < 3; ++g) {
    CHECK(order.before("wait_stored", g, "sum", g));
    CHECK(order.before("sum", g, "announce_and_wait", g));
    for (int copy = 2 * g; copy < 2 * g + 2; ++copy)
      CHECK(order.before("announce_and_wait", g, "cudaMemcpyAsync", copy));
  }
  check_end(order, {"sum", "cudaMemcpyAsync", "wait_stored"}, captured);
}

TEST_CASE_METHOD(OneRun, "peer: where sums are added on their way, kernels hand them on") {
  const Order order = run(stores(kReduceScatter, TILEPOST_SUM_ADDED), false);
  CHECK(world().view.tasks.count == 0);
  CHECK(order.count("sum") == 3);
}

TEST_CASE_METHOD(OneRun, "tasks: the run ends with the GEMM") {
  const Way way =
      GENERATE(tasks(kAllReduce), tasks(kReduceScatter), tasks(kAllToAll), pushed_rows());
  const bool captured = GENERATE(false, true);
  CAPTURE(way, captured);
  const Order order = run(way, captured);
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.all_before("gemm", "shared_end"));
  CHECK(order.joined("gemm"));
  CHECK(order.joined("shared_end") == captured);
  for (const char* call : {"sum", "wait", "wait_stored", "wait_added", "announce", "post"})
    CHECK(order.count(call) == 0);
  // The kernels that begin and end the run count its replays.
  CHECK(order.count("replay_begin") + order.count("replay_end") == 0);
  for (const char* call : {"shared_begin", "shared_end"})
    CHECK(std::ranges::count_if(world().log, [&](const std::string& line) {
            return line.starts_with(call) && line.ends_with(" replay");
          }) == (captured ? 1 : 0));
  if (!way.gathers()) return;
  // The copy to the caller's memory for the gathered rows.
  REQUIRE(order.count("cudaMemcpyAsync") == 1);
  CHECK(order.all_before("gemm", "cudaMemcpyAsync"));
  CHECK(order.all_before("cudaMemcpyAsync", "shared_end"));
}

TEST_CASE_METHOD(OneRun, "tasks: a consumer comes behind the GEMM, and the run's end behind it") {
  program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  const Order order = run(tasks(kReduceScatter), false);
  CHECK(order.all_before("gemm", "norm"));
  CHECK(order.joined("norm"));
  CHECK(order.all_before("gemm", "shared_end"));
  CHECK(world().view.tasks.out != sample::operands().out);
}

TEST_CASE_METHOD(OneRun,
                 "gather tasks: rows are announced when they are there, and nothing precedes the "
                 "GEMM") {
  const bool captured = GENERATE(false, true);
  CAPTURE(captured);
  // Five groups: the own rows, then 4, 4 and 8 rows of one other rank, then 16 rows.
  const Order order = run(tasks(kAllGather), captured);
  constexpr int kArrivals = 4;
  REQUIRE(order.count("wait_added") == 1);
  REQUIRE(order.count("announce") == kArrivals);
  check_posted(order, "groups 0+5 sources 0 4 4 4 1");
  REQUIRE(order.count("cudaMemcpyAsync") == kArrivals + 1);  // four groups, the caller's memory
  CHECK(count_calls("cudaMemcpyAsync user") == 0);
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.all_before("shared_begin", "wait_added"));
  const std::vector<const char*> beside = {"wait_added", "announce", "arrivals", "cudaMemcpyAsync"};
  for (const char* call : beside) {
    CAPTURE(call);
    CHECK_FALSE(order.before(call, 0, "gemm", 0));
    CHECK_FALSE(order.before("gemm", 0, call, 0));
  }
  check_end(order, beside, captured);
  CHECK(order.before("wait_added", 0, "arrivals", 0));  // a tile may also need own rows
  for (int arrival = 0; arrival < kArrivals; ++arrival) {
    // What this rank sends to others waits for no rank.
    CHECK_FALSE(order.before("wait_added", 0, "cudaMemcpyAsync", arrival));
    CHECK(order.before("cudaMemcpyAsync", arrival, "announce", arrival));
    CHECK_FALSE(order.before("arrivals", 0, "announce", arrival));
    if (arrival > 0)
      CHECK(order.before("cudaMemcpyAsync", arrival - 1, "cudaMemcpyAsync", arrival));
  }
  // After the run's end other ranks may overwrite what the GEMM has read.
  CHECK(order.all_before("gemm", "shared_end"));
  CHECK(order.joined("gemm"));
  CHECK(order.joined("shared_end") == captured);
}
