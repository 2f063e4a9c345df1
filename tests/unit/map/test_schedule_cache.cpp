// Which schedules are kept, by bytes and by use. The reference is a list that is searched and kept
// in order one by one.
#include "runtime/schedule/schedule_cache.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "runtime/schedule/run_map.h"
#include "tests/catch.h"

using tilepost::make_run_map;
using tilepost::ScheduleCache;

namespace {

constexpr auto kNone = [](const int64_t&) { return false; };

}  // namespace

TEST_CASE("the schedule that was used longest ago makes room, as many as it takes") {
  ScheduleCache<int64_t> cache(100);
  cache.add(1, 10, 40);
  cache.add(2, 20, 40);
  CHECK(*cache.find(1) == 10);
  cache.add(3, 30, 20);  // fits
  CHECK(cache.size() == 3);
  cache.add(4, 40, 30);  // drops 2
  CHECK(cache.find(2) == nullptr);
  CHECK(cache.bytes() == 90);
  cache.add(5, 50, 60);  // drops 1 and 3, which were used before 4
  CHECK(cache.find(1) == nullptr);
  CHECK(cache.find(3) == nullptr);
  CHECK(*cache.find(4) == 40);
  CHECK(cache.bytes() == 90);
}

TEST_CASE("a schedule larger than the bound is kept alone, and makes room itself") {
  ScheduleCache<int64_t> cache(100);
  cache.add(1, 10, 50);
  cache.add(2, 20, 500);
  CHECK(cache.size() == 1);
  CHECK(*cache.find(2) == 20);
  cache.add(3, 30, 1);
  CHECK(cache.size() == 1);
  CHECK(cache.bytes() == 1);
}

TEST_CASE("schedules that must stay do, and others go instead") {
  ScheduleCache<int64_t> cache(100);
  cache.add(1, 10, 50);
  cache.add(2, 20, 50);
  const auto is_ten = [](int64_t schedule) { return schedule == 10; };
  cache.add(3, 30, 50, is_ten);
  CHECK(*cache.find(1) == 10);
  CHECK(cache.find(2) == nullptr);
  cache.add(4, 40, 60, [](int64_t) { return true; });
  CHECK(cache.size() == 3);
  CHECK(cache.bytes() == 160);
  cache.add(5, 50, 10, kNone);
  CHECK(cache.bytes() == 70);  // as soon as they may be dropped
}

TEST_CASE("a long sequence keeps what a list would") {
  std::mt19937_64 random(1);
  constexpr int64_t kMost = 1000;
  ScheduleCache<std::unique_ptr<int64_t>> cache(kMost);
  struct Entry {
    int64_t m, bytes;
  };
  std::vector<Entry> list;  // the last one was used last
  for (int i = 0; i < 20000; ++i) {
    const int64_t m = static_cast<int64_t>(random() % 40);
    const auto entry = std::ranges::find(list, m, &Entry::m);
    const auto* found = cache.find(m);
    REQUIRE((found != nullptr) == (entry != list.end()));
    if (found != nullptr) {
      REQUIRE(**found == m);
      std::rotate(entry, entry + 1, list.end());
      continue;
    }
    const auto bytes = static_cast<int64_t>(1 + random() % 200);
    int64_t sum = bytes;
    for (const Entry& kept : list) sum += kept.bytes;
    while (sum > kMost) {
      sum -= list.front().bytes;
      list.erase(list.begin());
    }
    list.push_back({m, bytes});
    cache.add(m, std::make_unique<int64_t>(m), bytes);
    REQUIRE(cache.bytes() == sum);
    REQUIRE(cache.size() == list.size());
  }
}

TEST_CASE("the bytes of a schedule are at least those of its tables") {
  tilepost_plan_t plan{};
  int32_t cuts[] = {64};
  plan.pattern = TILEPOST_GEMM_ALL_REDUCE;
  plan.ranks = 2;
  plan.any_m = 1;
  plan.gemm_ctas = 2;
  plan.transport = TILEPOST_TRANSPORT_HOST;
  plan.kernel.cluster = 1;
  plan.map = {1024, 1024, 16, 16, 1,    1, 1, TILEPOST_PANEL, TILEPOST_DIVISION_ROWS,
              1,    0,    0,  1,  cuts, 0, 0};
  const auto run = make_run_map(plan, 0, 1024);
  const int64_t tables = 64 * 64 * (sizeof(tilepost_tile_t) + sizeof(int32_t));
  CHECK(tilepost::bytes_of(*run) > tables);
  CHECK(tilepost::bytes_of(*run) < 2 * tables);
}
