// Which NCCL calls each pattern makes and where their bytes go. Small shapes are checked by hand.
// For many shapes the ranks must agree with each other, and every element must land once.
#include <algorithm>
#include <map>
#include <numeric>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using fakes::NcclCall;
using fakes::world;
using sample::enqueued;
using sample::Lines;
using sample::operands;
using sample::Program;
using sample::Setup;

namespace {

constexpr int kBf16 = 9, kUint8 = 1;  // ncclDataType_t

int64_t element(const void* pointer, const void* base, int bytes = 2) {
  return (static_cast<const char*>(pointer) - static_cast<const char*>(base)) / bytes;
}

// Intervals of elements, which must not overlap.
class Coverage {
 public:
  void add(int64_t first, int64_t count) { parts_[first] = count; }
  // Whether the parts cover [0, end) without gap or overlap.
  bool is_exactly(int64_t end) const {
    int64_t at = 0;
    for (const auto& [first, count] : parts_) {
      if (first != at) return false;
      at += count;
    }
    return at == end;
  }

 private:
  std::map<int64_t, int64_t> parts_;
};

// What one rank did in one run.
struct Trace {
  std::vector<NcclCall> calls;
  std::vector<fakes::Copy> copies;
  int64_t out_elements = 0;
};

Trace trace_of(const Program& program, int rank, const tilepost_run_operands_t& values) {
  Setup setup;
  REQUIRE(setup.create(program, 0, rank) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  tilepost_op_info_t info{};
  for (int run = 0; run < 2; ++run) {  // the first run may also gather once before it
    world().reset_calls();
    REQUIRE(tilepost_op_run_with(setup.op, &values, user) == TILEPOST_OK);
    REQUIRE(tilepost_op_get_info(setup.op, &info) == TILEPOST_OK);
  }
  return {world().nccl, world().copies, info.out_elements};
}

// Checks that what a run received into `base` lands once each in its first `elements`.
void check_landing(const Trace& trace, const void* base, int64_t elements, int bytes) {
  Coverage coverage;
  const auto inside = [&](const void* to) {
    const int64_t at = element(to, base, bytes);
    return at >= 0 && at <= elements;
  };
  for (const NcclCall& call : trace.calls)
    if (call.to != nullptr && call.name != "allgather" && inside(call.to))
      coverage.add(element(call.to, base, bytes), static_cast<int64_t>(call.count));
  for (const fakes::Copy& copy : trace.copies)
    coverage.add(element(copy.to, base, bytes), static_cast<int64_t>(copy.bytes) / bytes);
  CHECK(coverage.is_exactly(elements));
}

// The counts of what a rank sends to `peer`, or receives from it, in order.
std::vector<size_t> counts_between(const Trace& trace, const char* name, int peer) {
  std::vector<size_t> counts;
  for (const NcclCall& call : trace.calls)
    if (call.name == name && call.peer == peer) counts.push_back(call.count);
  return counts;
}

void check_pairs(const std::vector<Trace>& traces) {
  const int ranks = static_cast<int>(traces.size());
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      CAPTURE(from, to);
      CHECK(counts_between(traces[from], "send", to) == counts_between(traces[to], "recv", from));
    }
}

}  // namespace

TEST_CASE_METHOD(Operation,
                 "ReduceScatter in shares: a group is one call, straight to its rows of out") {
  // 512 x 256: two shares of two tile rows
  program.use(TILEPOST_GEMM_REDUCE_SCATTER, 2, TILEPOST_DIVISION_SHARES, {1, 2});
  create();
  run_logged();
  CHECK(enqueued() == Lines{"cudaEventRecord user", "cudaStreamWaitEvent own0",
                            "gemm user x8 clusters", "wait own0 8", "reducescatter own0 32768",
                            "wait own0 8", "reducescatter own0 32768", "cudaEventRecord own0",
                            "cudaStreamWaitEvent user"});
  const std::vector<NcclCall>& calls = world().nccl;
  CHECK(element(calls[0].to, operands().out) == 0);
  CHECK(element(calls[1].to, operands().out) == 128 * 256);
  CHECK(element(calls[1].from, calls[0].from) == 2 * 128 * 256);
  CHECK(calls[0].type == kBf16);
  CHECK(calls[0].group == 0);
  CHECK(world().epilogue.out == calls[0].from);
  CHECK(world().view.share_rows == 256);
  CHECK(world().view.share_tiles == 2);
}

TEST_CASE_METHOD(Operation, "ReduceScatter: what belongs to nobody lands apart") {
  program.plan.map.m = 300;  // shares of 150 rows: 128 and 22
  program.use(TILEPOST_GEMM_REDUCE_SCATTER, 2, TILEPOST_DIVISION_SHARES, {1, 2});
  create();
  run_logged();
  CHECK(world().nccl[1].count == 128 * 256);
  REQUIRE(world().copies.size() == 1);
  CHECK(world().copies[0].bytes == 22 * 256 * 2);
  CHECK(world().copies[0].from == world().nccl[1].to);
  CHECK(element(world().copies[0].to, operands().out) == 128 * 256);
}

TEST_CASE_METHOD(Operation, "lanes land apart from each other") {
  // Shares of 257 rows, and a last one of 254, in which two groups have fewer rows.
  program.plan.map.m = 1025;
  program.plan.comm_lanes = 2;
  program.use(TILEPOST_GEMM_REDUCE_SCATTER, 4, TILEPOST_DIVISION_SHARES, {1, 2, 3});
  create(0, 3);
  run_logged();
  const std::vector<NcclCall>& calls = world().nccl;
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].comm == calls[2].comm);
  CHECK(calls[0].comm != calls[1].comm);
  CHECK(calls[1].stream != calls[2].stream);
  CHECK(std::abs(element(calls[1].to, calls[2].to)) >= 128 * 256);
  REQUIRE(world().copies.size() == 1);
  CHECK(world().copies[0].from == calls[1].to);
  CHECK(world().copies[0].bytes == 126 * 256 * 2);
}

TEST_CASE_METHOD(Operation,
                 "ReduceScatter by tile columns: one call per column, in one NCCL group") {
  program.plan.map.n = 512;  // four tile columns
  program.plan.consumer = GENERATE(TILEPOST_CONSUMER_NONE, TILEPOST_CONSUMER_UNPERMUTE);
  program.use(TILEPOST_GEMM_REDUCE_SCATTER, 2, TILEPOST_DIVISION_COLUMNS, {1, 4}, TILEPOST_TILE);
  create();
  run_logged();
  Lines expected{"cudaEventRecord user", "cudaStreamWaitEvent own0", "gemm user x8 clusters",
                 "wait own0 8", "reducescatter own0 32768"};
  const bool unpermutes = program.plan.consumer == TILEPOST_CONSUMER_UNPERMUTE;
  if (unpermutes) expected.push_back("unpermute_slabs own0 columns 0..1 height 256 rows 0 256");
  for (const char* line : {"wait own0 24", "group_start", "reducescatter own0 32768",
                           "reducescatter own0 32768", "reducescatter own0 32768", "group_end"})
    expected.push_back(line);
  if (unpermutes) expected.push_back("unpermute_slabs own0 columns 1..4 height 256 rows 0 256");
  expected.push_back("cudaEventRecord own0");
  expected.push_back("cudaStreamWaitEvent user");
  CHECK(enqueued() == expected);
  CHECK(element(world().nccl[3].to, world().nccl[0].to) == 3 * 256 * 128);
  CHECK((world().nccl[0].to == operands().out) == !unpermutes);
}

TEST_CASE_METHOD(Operation, "All-to-All: sends and receives in one NCCL group, own rows too") {
  program.use(TILEPOST_GEMM_ALL_TO_ALL, 2, TILEPOST_DIVISION_SHARES, {1, 2});
  create();
  run_logged();
  CHECK(enqueued() ==
        Lines{"cudaEventRecord user", "cudaStreamWaitEvent own0", "gemm user x8 clusters",
              "wait own0 8", "group_start", "send own0 32768 peer 0", "recv own0 32768 peer 0",
              "send own0 32768 peer 1", "recv own0 32768 peer 1", "group_end", "wait own0 8",
              "group_start", "send own0 32768 peer 0", "recv own0 32768 peer 0",
              "send own0 32768 peer 1", "recv own0 32768 peer 1", "group_end",
              "cudaEventRecord own0", "cudaStreamWaitEvent user"});
  CHECK(world().groups_begun == world().groups_ended);
}

TEST_CASE_METHOD(Operation, "All-to-All by tile columns is put in place source by source") {
  program.plan.map.m = 100;  // shares of 34, 34 and 32 rows
  program.plan.consumer = TILEPOST_CONSUMER_UNPERMUTE;
  program.use(TILEPOST_GEMM_ALL_TO_ALL, 3, TILEPOST_DIVISION_COLUMNS, {2}, TILEPOST_TILE);
  create(0, 2);
  run_logged();
  CHECK(sample::count_calls("unpermute_slabs own0 columns 0..2 height 0 rows 0 32 64 96") == 1);
}

TEST_CASE_METHOD(OnFakes, "ranks agree on what they exchange, and every row lands once") {
  const int ranks = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 7, 128, 300, 512, 1000, 1030);
  const auto pattern =
      GENERATE(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  const bool sequence = GENERATE(false, true);
  Program program;
  program.plan.map.m = m;
  const auto share_rows = static_cast<int>((m + ranks - 1) / ranks);
  const int rows = static_cast<int>(m + 127) / 128, tiles = (share_rows + 127) / 128;
  std::vector<int32_t> ends = tiles > 1 ? std::vector{1, tiles} : std::vector{1};
  auto division = TILEPOST_DIVISION_SHARES;
  if (pattern == TILEPOST_ALL_GATHER_GEMM) {
    ends.insert(ends.begin(), 0);
    division = TILEPOST_DIVISION_ARRIVALS;
  }
  program.use(pattern, ranks, sequence ? TILEPOST_DIVISION_ROWS : division,
              sequence ? std::vector{rows} : ends);
  if (sequence) program.use_sequence(rows);
  CAPTURE(ranks, m, static_cast<int>(pattern), sequence);
  tilepost_run_operands_t values = operands();
  values.gathered = reinterpret_cast<void*>(0x4000000 * 7);
  std::vector<Trace> traces;
  for (int rank = 0; rank < ranks; ++rank) traces.push_back(trace_of(program, rank, values));
  check_pairs(traces);
  int64_t received = 0;
  for (const Trace& trace : traces) {
    received += trace.out_elements;
    if (pattern == TILEPOST_ALL_GATHER_GEMM) continue;
    check_landing(trace, values.out, trace.out_elements, 2);
  }
  if (pattern == TILEPOST_GEMM_REDUCE_SCATTER) {
    CHECK(received == m * 256);
    for (const Trace& trace : traces) {
      REQUIRE(trace.calls.size() == traces[0].calls.size());
      for (size_t i = 0; i < trace.calls.size(); ++i)
        CHECK(trace.calls[i].count == traces[0].calls[i].count);
    }
  }
  if (pattern == TILEPOST_GEMM_ALL_TO_ALL) CHECK(received == ranks * m * 256);
  if (pattern != TILEPOST_ALL_GATHER_GEMM) return;
  for (const Trace& trace : traces) {
    const bool gathers = std::any_of(trace.calls.begin(), trace.calls.end(),
                                     [](const NcclCall& call) { return call.name == "allgather"; });
    if (!gathers) check_landing(trace, values.gathered, m * 256, 2);
    for (const NcclCall& call : trace.calls)
      if (call.name == "allgather") CHECK(call.count * ranks == static_cast<size_t>(m * 256));
  }
}

TEST_CASE_METHOD(Operation, "rows of A are moved as what they are") {
  program.plan.input = TILEPOST_E4M3;
  program.use(TILEPOST_ALL_GATHER_GEMM, 2, TILEPOST_DIVISION_ARRIVALS, {0, 2});
  create();
  run_logged();
  CHECK(world().nccl[0].type == kUint8);
  CHECK(world().nccl[0].count == 256 * 256);
  CHECK(world().copies[0].bytes == 256 * 256);
}
