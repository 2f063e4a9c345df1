// A program made by hand, and an operation with it, for tests on the fakes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"
#include "tests/runtime/fakes.h"
#include "tilepost/tilepost.h"

// Short names of the patterns that communicate, for all tests of this folder.
constexpr auto kAllReduce = TILEPOST_GEMM_ALL_REDUCE;
constexpr auto kReduceScatter = TILEPOST_GEMM_REDUCE_SCATTER;
constexpr auto kAllToAll = TILEPOST_GEMM_ALL_TO_ALL;
constexpr auto kAllGather = TILEPOST_ALL_GATHER_GEMM;
constexpr auto kAllToAllGemm = TILEPOST_ALL_TO_ALL_GEMM;

namespace sample {

// How many communicators an operation with one lane has: one for exchanging numbers, and one for
// its lane.
constexpr int kComms = 2;

inline void kernel() {}  // its address stands for the __global__ function's

// 4 x 2 tiles of 128 x 128 in two groups, for 2 ranks on sm_90a. Edit it, then call finish().
struct Program {
  std::vector<int32_t> cuts{2, 4};
  tilepost::TileMap map;
  tilepost_plan_t plan{};
  tilepost_program_t program{};

  Program() {
    plan.pattern = TILEPOST_GEMM_ALL_REDUCE;
    plan.ranks = 2;
    plan.k = 256;
    plan.input = plan.output = TILEPOST_BF16;
    plan.map = {512, 256, 128, 128, 2,       2, 2, TILEPOST_PANEL, TILEPOST_DIVISION_ROWS,
                1,   0,   0,   0,   nullptr, 0, 0};
    plan.sms = 132;
    plan.gemm_ctas = 8;
    plan.comm_ctas = 16;
    plan.transport = TILEPOST_TRANSPORT_NCCL;
    plan.wait = TILEPOST_WAIT_POLL;
    plan.consumer = TILEPOST_CONSUMER_NONE;
    plan.kernel = {"gemm_sm90",
                   TILEPOST_LAUNCH_TMA,
                   reinterpret_cast<const void*>(&kernel),
                   nullptr,
                   nullptr,
                   90,
                   64,
                   2,
                   0,
                   {64, 128, 128, 0},
                   {64, 64, 128, 0},
                   {64, 64, 128, 0},
                   384,
                   200000,
                   0,
                   1,
                   {0, 0, 0},
                   0,
                   nullptr,
                   0};
    finish();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void finish() {
    plan.map.num_groups = static_cast<int32_t>(cuts.size());
    plan.map.cuts = cuts.data();
    map = tilepost::build_tile_map(plan.map);
    plan.map_hash = tilepost::hash_tile_map(map);
    plan.groups = map.groups.data();
    program = {TILEPOST_ABI_VERSION, "sample", 1, &plan};
  }

  // Makes it another pattern on `ranks` ranks. `ends`: the ends of the groups, in the division's
  // unit.
  void use(tilepost_pattern_t pattern, int ranks, tilepost_division_t division,
           std::vector<int32_t> ends, tilepost_layout_t layout = TILEPOST_PANEL) {
    plan.pattern = pattern;
    plan.ranks = ranks;
    plan.map.ranks = pattern == TILEPOST_GEMM || pattern == TILEPOST_GEMM_ALL_REDUCE ? 1 : ranks;
    plan.map.division = division;
    plan.map.layout = layout;
    cuts = std::move(ends);
    fakes::world().comm_ranks = ranks;
    weave();
    finish();
  }

  // The kernel waits for rows that arrive, unless it is launched for each group beside neighbours.
  // Where another kernel sums its rows, that one raises the counters.
  void weave() const {
    const bool arrives = plan.map.division == TILEPOST_DIVISION_ARRIVALS;
    fakes::world().gemm_raises = !arrives && !tilepost::row_of(plan).combines();
    fakes::world().gemm_waits = arrives && plan.neighbours == 0;
  }

  // Makes runs not overlap: one group, which ends at `end` in the division's unit.
  void use_sequence(int32_t end) {
    plan.transport = TILEPOST_TRANSPORT_NONE;
    cuts = {end};
    finish();
  }

  // Allows any number of rows up to m. Runs with few rows do not overlap.
  void use_any_m() {
    tilepost_model_t& model = plan.model;
    plan.any_m = 1;
    model.wave = model.sequence_wave = 10;
    model.latency = 100;
    model.sequence_ctas = 132;
  }

  void use_tiles(tilepost_consumer_t consumer) {
    plan.map.layout = TILEPOST_TILE;
    plan.consumer = consumer;
    cuts = {3, 8};
    finish();
  }

  void use_sm80() {
    plan.kernel.launch = TILEPOST_LAUNCH_POINTERS;
    plan.kernel.arch = 80;
    plan.map.cluster = plan.kernel.cluster = 1;
    plan.map.signals_per_tile = 1;
    fakes::world().signals_per_tile = 1;
    fakes::world().compute_major = 8;
    finish();
  }
};

// A communicator and an operation, released in the right order. Without a deadline no watchdog
// runs, and calls come in a fixed order.
struct Setup {
  tilepost_comm_t comm = nullptr;
  tilepost_op_t op = nullptr;
  int64_t schedule_bytes = 0;  // as in tilepost_options_t

  Setup() = default;
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
  ~Setup() { release(); }

  void release() {
    tilepost_op_destroy(std::exchange(op, nullptr));
    tilepost_comm_destroy(std::exchange(comm, nullptr));
  }

  // Makes a communicator of `comm_ranks` ranks of the fakes' world, and an operation on it.
  tilepost_result_t create(const Program& program, double deadline_seconds = 0, int rank = 1,
                           bool shares = false) {
    tilepost_unique_id_t id{};
    const int world = fakes::world().comm_ranks;
    if (const auto result = tilepost_comm_init(&id, rank, world, &comm); result != TILEPOST_OK)
      return result;
    return create_on(comm, program, deadline_seconds, shares);
  }

  // Makes an operation on another Setup's communicator, which must outlive this one.
  tilepost_result_t create_on(tilepost_comm_t where, const Program& program,
                              double deadline_seconds, bool shares) {
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = deadline_seconds;
    options.share_memory = shares ? 1 : 0;
    options.schedule_bytes = schedule_bytes;
    return tilepost_op_create(where, &program.program, &options, &op);
  }
};

// Device pointers, far from each other: never read, only looked at.
inline void* pointer(uintptr_t n) {
  return reinterpret_cast<void*>(0x4000000 * n);
}

// The operands of a run, all there.
inline tilepost_run_operands_t operands() {
  tilepost_run_operands_t values{};
  values.struct_size = sizeof values;
  values.a = pointer(1);
  values.b = pointer(2);
  values.out = pointer(3);
  values.norm_weight = pointer(4);
  values.norm_residual = pointer(5);
  values.out_scales = static_cast<float*>(pointer(8));
  return values;
}

// A run of m rows.
inline tilepost_result_t run_on(const Setup& setup, CUstream_st* stream,
                                int64_t m = TILEPOST_PLANNED_M) {
  tilepost_run_operands_t values = operands();
  values.m = m;
  return tilepost_op_run_with(setup.op, &values, stream);
}

// The logged calls that put work on a stream or on NCCL, in order.
inline std::vector<std::string> enqueued() {
  const std::lock_guard lock(fakes::world().mutex);
  std::vector<std::string> lines;
  for (const std::string& line : fakes::world().log)
    for (const char* kind : {"cudaEventRecord", "cudaStreamWaitEvent", "gemm", "wait ", "post ",
                             "allreduce", "reducescatter", "allgather", "send ", "recv ", "group_",
                             "unpermute", "norm ", "quantise ", "replay", "cudaMemset", "cuStream"})
      if (line.rfind(kind, 0) == 0) {
        lines.push_back(line);
        break;
      }
  return lines;
}
using Lines = std::vector<std::string>;

// The lines of the operation's first run in a capture of `user`: first the lines of the calls by
// which the operation notices the end of the capture, then `lines`.
inline Lines captured(const Lines& lines) {
  Lines all{"cudaEventRecord user", "cudaStreamWaitEvent own3", "cudaEventRecord own3",
            "cudaStreamWaitEvent user"};
  all.insert(all.end(), lines.begin(), lines.end());
  return all;
}

// How many logged calls begin with `word`.
inline int count_calls(const std::string& word) {
  const std::lock_guard lock(fakes::world().mutex);
  int count = 0;
  for (const std::string& line : fakes::world().log) count += line.rfind(word, 0) == 0;
  return count;
}

}  // namespace sample
