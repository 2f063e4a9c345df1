// Tasks: what the kernel's helper warps have to add up, move, copy or push, and where the kernel
// then reads and stores.
#include <algorithm>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tests/runtime/ranks.h"
#include "tilepost/internal/task_chunks.h"

using fakes::world;
using ranks::helper_bytes_of;
using ranks::pushed_rows;
using ranks::tasks;
using sample::count_calls;

namespace {

fakes::MapOf map_at(const void* map) {
  return *static_cast<const fakes::MapOf*>(map);
}

}  // namespace

TEST_CASE_METHOD(Operation, "tasks: what the kernel is told of them") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  CAPTURE(static_cast<int>(pattern));
  // Three ranks with 16 rows each, in three groups.
  program.use_any_m();
  ranks::use(program, tasks(pattern), 3, 48);
  create();
  REQUIRE(run(48) == TILEPOST_OK);
  const tilepost_tasks_t list = world().view.tasks;
  REQUIRE(list.count == (pattern == kReduceScatter ? 3 : 9));
  // The position behind the sums of the first two groups and the moves of the first one.
  CHECK(list.last == (pattern == kReduceScatter ? 2 : pattern == kAllReduce ? 4 : 6));
  CHECK(list.out == sample::operands().out);
  CHECK(list.done == nullptr);
  CHECK((list.there != nullptr) == (pattern == kAllReduce));
  CHECK(list.rank == 1);
  CHECK(list.ranks == 3);
  CHECK(list.row_bytes == 24 * 2);
  CHECK(list.row_gap == program.plan.row_gap * 2);
  CHECK(list.stride == (pattern == kAllToAll ? 0 : 16 * (24 + program.plan.row_gap) * 2));
  int64_t summed = 0, moved = 0;
  for (int i = 0; i < list.count; ++i) {
    const tilepost_task_t& task = list.list[i];
    const bool sums = task.parts == 3;
    CHECK((sums || task.parts == 1));
    CHECK((task.push >= 0) == (sums && pattern == kAllReduce));
    if (task.push >= 0) CHECK(task.push == task.to);
    CHECK(task.from % tilepost::kTaskUnit == 0);
    CHECK(task.to % tilepost::kTaskUnit == 0);
    (sums ? summed : moved) += task.bytes;
  }
  constexpr int64_t kShare = 16 * 24 * 2;
  CHECK(summed == (pattern == kAllToAll ? 0 : kShare));
  CHECK(moved == (pattern == kAllToAll ? 3 : pattern == kAllReduce ? 2 : 0) * kShare);
  REQUIRE(run(5) == TILEPOST_OK);  // a run of 5 rows does not overlap
  CHECK(world().view.tasks.count == 0);
}

TEST_CASE_METHOD(
    Operation,
    "tasks: what has landed is moved behind the next group's sums, and waits for all pushes") {
  // Three ranks with 16 rows each, in three groups of 4, 4 and 8 rows.
  ranks::use(program, tasks(kAllReduce), 3, 48);
  create();
  REQUIRE(run() == TILEPOST_OK);
  const tilepost_tasks_t list = world().view.tasks;
  std::vector<int> waits, counts;
  for (int i = 0; i < list.count; ++i) {
    waits.push_back(list.list[i].waits);
    if (list.list[i].push >= 0) counts.push_back(list.list[i].counts);
  }
  // Counters 0 to 2 belong to the groups, and 3 to 5 to their sums.
  CHECK(waits == std::vector<int>{0, 1, 3, 3, 2, 4, 4, 5, 5});
  CHECK(counts == std::vector<int>{3, 4, 5});
  const int chunk = tilepost::task_chunk_bytes(program.plan.kernel.helper_bytes, 3);
  for (int g = 0; g < 3; ++g)
    CHECK(list.expected[3 + g] ==
          2u * static_cast<uint32_t>(tilepost::task_chunks((g == 2 ? 8 : 4) * 24 * 2, chunk)));
}

TEST_CASE_METHOD(Operation, "gather tasks: what the kernel is told of them, and where it reads") {
  // Three ranks with 16 rows of 8 elements each. This is rank 1.
  program.use_any_m();
  ranks::use(program, tasks(kAllGather), 3, 48);
  program.plan.kernel.helper_bytes = helper_bytes_of(1);
  create();
  REQUIRE(run(48) == TILEPOST_OK);
  const tilepost_view_t view = world().view;
  const auto* a = static_cast<const char*>(sample::operands().a);
  constexpr int64_t kRow = 8 * 2;
  REQUIRE(view.tasks.count == 1);
  const tilepost_task_t task = view.tasks.list[0];
  CHECK(task.from == 0);
  CHECK(task.to == 16 * kRow);
  CHECK(task.bytes == 16 * kRow);
  CHECK(task.push == -1);
  CHECK(task.parts == 1);
  CHECK(task.waits == -1);
  CHECK(task.counts == 0);
  CHECK(view.tasks.in == a);
  CHECK(view.tasks.stride == 0);
  CHECK(view.tasks.done != nullptr);
  CHECK(std::ranges::count_if(world().log, [](const std::string& line) {
          return line.rfind("wait_added", 0) == 0 && line.ends_with(" group 0 chunks 16");
        }) == 1);
  // A points to where row 0 would lie if own rows are at their place among all rows. in_map covers
  // all rows where the task copies them to.
  CHECK(world().a == a - 16 * kRow);
  REQUIRE(view.in_map != nullptr);
  CHECK(map_at(view.in_map).base == view.tasks.out);
  CHECK(map_at(view.in_map).columns == 8);
  CHECK(map_at(view.in_map).rows == 48);
  CHECK(world().maps.back().rfind("24x48", 0) == 0);                              // out
  CHECK(world().maps[world().maps.size() - 3].rfind("8x32 box 64x128", 0) == 0);  // a
  REQUIRE(run(5) == TILEPOST_OK);  // a run of 5 rows does not overlap
  CHECK(world().view.tasks.count == 0);
  // The kernel acquires the map (open_in_map) in this run too.
  REQUIRE(world().view.in_map != nullptr);
  CHECK(world().a == view.tasks.out);
}

TEST_CASE_METHOD(Operation, "gather tasks: a too low for the rows before it is refused") {
  ranks::use(program, tasks(kAllGather), 3, 48);  // rank 1: 16 rows of 16 bytes, behind rank 0's
  create();
  auto operands = sample::operands();
  operands.a = reinterpret_cast<const void*>(uintptr_t{240});
  world().reset_calls();
  CHECK(run_with(operands) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("a is at 0xf0") &&
                                        Catch::Contains("256 bytes before it") &&
                                        Catch::Contains("below address 0"));
  CHECK(count_calls("gemm") == 0);
  CHECK(tilepost_op_status(setup.op) == TILEPOST_OK);
  operands.a = reinterpret_cast<const void*>(uintptr_t{256});
  CHECK(run_with(operands) == TILEPOST_OK);
  operands.a = sample::operands().a;
  CHECK(run_with(operands) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "gather tasks: a rank without rows has none and announces at once") {
  // Three ranks. The last one has no rows.
  ranks::use(program, tasks(kAllGather), 3, 4);
  create(0, 2);
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(world().view.tasks.count == 0);
  CHECK(count_calls("wait_added") == 0);
  CHECK(count_calls("announce ") == 2);
  CHECK(count_calls("arrivals ") == 1);
}

TEST_CASE_METHOD(
    Operation,
    "gather tasks: own rows that lie in place are not written while the GEMM reads them") {
  // Three ranks with 16 rows of 16 bytes each. This is rank 1.
  ranks::use(program, tasks(kAllGather), 3, 48);
  create();
  tilepost_run_operands_t operands = sample::operands();
  auto* all = reinterpret_cast<char*>(0x4000000 * 9);
  operands.gathered = all;
  operands.a = all + 16 * 16;
  run_logged(operands);
  std::vector<fakes::Copy> handed_out;
  for (const fakes::Copy& copy : world().copies)
    if (copy.to >= all && copy.to < all + 48 * 16) handed_out.push_back(copy);
  REQUIRE(handed_out.size() == 2);
  CHECK(handed_out[0].to == all);
  CHECK(handed_out[0].bytes == 16 * 16);
  CHECK(handed_out[1].to == all + 2 * 16 * 16);
  CHECK(handed_out[1].bytes == 16 * 16);
}

TEST_CASE_METHOD(Operation, "pushed rows: what the kernel is told of them") {
  // Three ranks, and this is rank 1. A tile has 4 rows of 8 elements.
  const bool aligned = GENERATE(true, false);
  const int64_t m = aligned ? 48 : 45;
  constexpr int64_t kRow = 8 * 2;
  ranks::use(program, pushed_rows(), 3, m);
  program.plan.kernel.helper_bytes = helper_bytes_of(1);
  create();
  REQUIRE(run() == TILEPOST_OK);
  const tilepost_view_t view = world().view;
  const tilepost_tasks_t& list = view.tasks;
  const int64_t own = m / 3;
  // Groups of 4, 4 and 8 rows of a share. With 45 rows some tiles have rows of two ranks. These
  // tiles need the last two rows or the first rows of this rank.
  const int edges = aligned ? 0 : 2;
  REQUIRE(list.count == 3 + edges);
  for (int i = 0; i < edges; ++i) {
    CHECK(list.list[i].push == -1);
    CHECK(list.list[i].counts == 0);
    CHECK(list.list[i].from == (i == 0 ? own - 2 : 0) * kRow);
    CHECK(list.list[i].to == list.list[i].from + own * kRow);
    CHECK(list.list[i].bytes == (i == 0 ? 2 : 1) * kRow);
  }
  for (int g = 1; g <= 3; ++g) {
    const tilepost_task_t& task = list.list[edges + g - 1];
    const int64_t first = g == 1 ? 0 : g == 2 ? 4 : 8, rows = g < 3 ? 4 : own - 8;
    CHECK(task.from == first * kRow);
    CHECK(task.to == (own + first) * kRow);
    CHECK(task.push == task.to);
    CHECK(task.bytes == rows * kRow);
    CHECK(task.waits == -1);
    CHECK(task.counts == g);
    CHECK(list.expected[g] == static_cast<uint32_t>(2 * rows));  // each row is a chunk
  }
  CHECK(list.expected[0] == (aligned ? 0u : 3u));
  CHECK(list.in == sample::operands().a);
  CHECK(list.there != nullptr);
  CHECK(list.done == list.stored);
  REQUIRE(view.in_map != nullptr);
  CHECK(view.out_maps == nullptr);
}
