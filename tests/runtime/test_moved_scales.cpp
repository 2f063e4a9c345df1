// Scales of blocks that helper warps push with rows of A: what the tasks of all ranks bring, and
// what their counters reach.
#include <cstring>
#include <numeric>

#include "runtime/cuda/shared/tasks.h"
#include "runtime/map/moved_scales.h"
#include "runtime/schedule/run_map.h"
#include "tests/catch.h"
#include "tests/runtime/ranks.h"
#include "tilepost/internal/task_chunks.h"

namespace tilepost::cuda {
namespace {

using Bytes = std::vector<unsigned char>;

// The rows that a rank brings and their scales, the memory in which all come together, and the
// counters of one run.
struct Rank {
  std::shared_ptr<const RunMap> run;
  Tasks tasks;
  Bytes a, scales, gathered;
  std::vector<uint32_t> counters;
};

unsigned char byte_of(int rank, int64_t at, int kind) {
  return static_cast<unsigned char>(
      (static_cast<uint64_t>(at) * 131 + rank * 71 + kind * 29 + 7) % 251 + 1);
}

Bytes random_bytes(int64_t count, int rank, int kind) {
  Bytes bytes(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) bytes[static_cast<size_t>(i)] = byte_of(rank, i, kind);
  return bytes;
}

class World {
 public:
  World(tilepost_pattern_t pattern, int ranks, int64_t m, int64_t k) : pattern_(pattern) {
    program_.plan.input = TILEPOST_E4M3;
    program_.plan.scales = TILEPOST_SCALES_BLOCKS;
    ranks::use(program_, ranks::whole(pattern), ranks, m);
    plan().k = k;
    const SharedRegions shared(memory_, shared_layout(plan(), most_sizes(plan())));
    for (int rank = 0; rank < ranks; ++rank) {
      Rank& one = ranks_.emplace_back();
      one.run = make_run_map(plan(), rank, rows_of_runs(plan()));
      REQUIRE(make_tasks(plan(), *one.run, shared, one.tasks) == TILEPOST_OK);
      one.a = random_bytes(m * k, rank, 0);
      one.scales = random_bytes(m * scale_row(), rank, 1);
      one.gathered.resize(static_cast<size_t>(place_of_rows(plan(), plan().map.m).bytes));
      one.counters.resize(one.tasks.targets.size());
    }
  }

  tilepost_plan_t& plan() { return program_.plan; }

  void play() {
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      for (const tilepost_task_t& task : ranks_[rank].tasks.list)
        play(static_cast<int>(rank), task);
  }

  // Checks the rows of `rank` that other ranks have, their scales, and what counters have reached.
  void check(int rank) const {
    const Rank& one = ranks_[static_cast<size_t>(rank)];
    CHECK(one.counters == one.tasks.targets);
    for (int source = 0; source < count(); ++source) {
      if (source == rank && pattern_ == kAllGather) continue;  // read where the caller has them
      const auto [in_a, in_gathered, rows] = rows_between(source, rank);
      for (int64_t row = 0; row < rows; ++row) {
        CAPTURE(source, row);
        REQUIRE(same(ranks_[static_cast<size_t>(source)].a, in_a + row, one.gathered,
                     in_gathered + row, plan_k(), 0));
        REQUIRE(same(ranks_[static_cast<size_t>(source)].scales, in_a + row, one.gathered,
                     in_gathered + row, scale_row(), scales_begin()));
      }
    }
  }

 private:
  struct Rows {
    int64_t in_a, in_gathered, count;
  };

  int count() const { return static_cast<int>(ranks_.size()); }
  int64_t plan_k() const { return program_.plan.k; }
  int64_t scale_row() const { return moved_scales(program_.plan).row_bytes(); }
  int64_t scales_begin() const { return place_of_rows(program_.plan, program_.plan.map.m).scales; }

  // By the routes of routing even, or by the ranks' shares.
  Rows rows_between(int source, int rank) const {
    const tilepost_map_t& map = program_.plan.map;
    if (pattern_ == kAllGather)
      return {0, first_row_of_rank(map, source), rows_of_rank(map, source)};
    const RowCounts& counts = ranks_[static_cast<size_t>(rank)].run->counts;
    return {counts.sent_before(source, rank), counts.before(source, rank),
            counts.at(source, 0, rank)};
  }

  static bool same(const Bytes& from, int64_t row, const Bytes& to, int64_t to_row, int64_t bytes,
                   int64_t begin) {
    return std::memcmp(&from[static_cast<size_t>(row * bytes)],
                       &to[static_cast<size_t>(begin + to_row * bytes)],
                       static_cast<size_t>(bytes)) == 0;
  }

  void play(int rank, const tilepost_task_t& task) {
    Rank& own = ranks_[static_cast<size_t>(rank)];
    CHECK(task.waits == -1);
    CHECK(task.parts <= 1);
    const bool of_scales = task.parts == 0;
    // The kernel is given scales that begin where those of all rows would.
    const RunMap::OwnRows& rows = own.run->own;
    const int64_t before = of_scales ? (rows.first - rows.in_a) * scale_row() : 0;
    const unsigned char* const from =
        (of_scales ? own.scales : own.a).data() + (task.from - before);
    const int chunk = task_chunk_bytes(program_.plan.kernel.helper_bytes, 1);
    const auto count = [&](Rank& where) {
      where.counters[static_cast<size_t>(task.counts)] +=
          static_cast<uint32_t>(task_chunks(task.bytes, chunk));
    };
    if (task.only < 0) std::copy_n(from, task.bytes, own.gathered.begin() + task.to);
    if (task.push < 0) return count(own);
    for (int to = 0; to < this->count(); ++to) {
      if (to == rank || (task.only >= 0 && to != task.only)) continue;
      Rank& other = ranks_[static_cast<size_t>(to)];
      std::copy_n(from, task.bytes, other.gathered.begin() + task.push);
      count(other);
    }
  }

  const tilepost_pattern_t pattern_;
  sample::Program program_;
  SharedMemory memory_;
  std::vector<Rank> ranks_;
};

TEST_CASE("scales of blocks are pushed with their rows, and one counter stands for both") {
  const auto pattern = GENERATE(kAllGather, kAllToAllGemm);
  const int ranks = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 5, 17, 64, 300), k = GENERATE(128, 1136);
  CAPTURE(pattern, ranks, m, k);
  World world(pattern, ranks, m, k);
  world.play();
  for (int rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank);
    world.check(rank);
  }
}

}  // namespace
}  // namespace tilepost::cuda
