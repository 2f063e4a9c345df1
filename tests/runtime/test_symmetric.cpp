// Transport nccl_symmetric. What NCCL moves lies in windows at the same place on every rank, and
// ends in the caller's memory. Where there are no windows, an operation warns and runs as nccl.
// Nothing is left behind.
#include <algorithm>
#include <array>

#include "runtime/cuda/transport/window_memory.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using Catch::Contains;
using fakes::NcclCall;
using fakes::Window;
using fakes::world;
using sample::count_calls;
using sample::enqueued;
using sample::Lines;
using sample::operands;
using sample::Program;
using sample::Setup;

namespace {

constexpr int kInvalidUsage = 5, kSystemError = 2, kInvalidArgument = 4;  // ncclResult_t

// `m` rows on `ranks` ranks, in groups by shares or by the pattern's division.
void use_symmetric(Program& program, tilepost_pattern_t pattern, int ranks, int64_t m,
                   int lanes = 1) {
  program.plan.map.m = m;
  program.plan.transport = TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
  program.plan.comm_lanes = lanes;
  const auto tiles = static_cast<int>((m + 127) / 128);
  const auto share = static_cast<int>(((m + ranks - 1) / ranks + 127) / 128);
  const auto cuts = [](int end) { return end > 1 ? std::vector{1, end} : std::vector{1}; };
  const std::vector<int32_t> bands = tiles > 2 ? std::vector{2, tiles} : std::vector{tiles};
  if (pattern == TILEPOST_GEMM_ALL_REDUCE)
    return program.use(pattern, ranks, TILEPOST_DIVISION_ROWS, bands);
  if (pattern != TILEPOST_ALL_GATHER_GEMM)
    return program.use(pattern, ranks, TILEPOST_DIVISION_SHARES, cuts(share));
  std::vector<int32_t> ends = cuts(share);
  ends.insert(ends.begin(), 0);
  program.use(pattern, ranks, TILEPOST_DIVISION_ARRIVALS, ends);
}

void say_both(const int64_t* own, int64_t* all, size_t count) {
  for (int rank = 0; rank < 2; ++rank) fakes::say_as(rank, own, all + rank * count, count);
}

// The live window that holds `pointer`, of communicator `comm` or, if that is null, of any.
const Window* window_at(const void* pointer, const void* comm = nullptr) {
  for (const auto& window : world().windows)
    if (window->live && window->holds(pointer) && (comm == nullptr || window->comm == comm))
      return window.get();
  return nullptr;
}

// Whether [pointer, pointer + bytes) is in the window of the call's communicator and in one of its
// regions. A null pointer counts as right.
bool lies_well(const Program& program, const NcclCall& call, const void* pointer, int64_t bytes) {
  if (pointer == nullptr) return true;
  const Window* window = window_at(pointer, call.comm);
  if (window == nullptr) return false;
  const auto layout =
      tilepost::cuda::window_layout(program.plan, tilepost::most_sizes(program.plan));
  CHECK(static_cast<int64_t>(window->bytes) == layout.bytes);
  const int64_t at = static_cast<const char*>(pointer) - window->memory;
  return std::ranges::any_of(
      std::array{layout.send, layout.received, layout.gathered},
      [&](const auto& r) { return at >= r.at && at + bytes <= r.at + r.bytes; });
}

int64_t offset_of(const void* pointer) {
  const Window* window = window_at(pointer);
  return window != nullptr ? static_cast<const char*>(pointer) - window->memory : -1;
}

// What a rank's second run did.
struct Trace {
  struct Call {
    std::string name;
    size_t count;
    int peer;
    int64_t from, to;  // offsets in the window
  };
  std::vector<Call> calls;
  bool all_in_windows = true;
  std::vector<std::pair<int64_t, int64_t>> landed;  // bytes of the caller's memory: first, count
  bool copied_from_received = true;  // whether every copy reads what NCCL has received there
  int64_t out_elements = 0;
};

bool was_received(const void* from, size_t bytes) {
  return std::ranges::any_of(world().nccl, [&](const NcclCall& call) {
    return call.to == from && call.count * 2 >= bytes;
  });
}

Trace trace_of(const Program& program, int rank, const tilepost_run_operands_t& values,
               const void* result) {
  Setup setup;
  REQUIRE(setup.create(program, 0, rank) == TILEPOST_OK);
  CHECK(std::string(tilepost_op_warnings(setup.op)).empty());
  Trace trace;
  for (int run = 0; run < 2; ++run) {
    world().reset_calls();
    REQUIRE(tilepost_op_run_with(setup.op, &values, fakes::user_stream("user")) == TILEPOST_OK);
  }
  for (const NcclCall& call : world().nccl) {
    const int64_t bytes = static_cast<int64_t>(call.count) * 2;
    const int parts = call.name == "reducescatter" ? program.plan.ranks : 1;
    trace.all_in_windows &= lies_well(program, call, call.from, bytes * parts);
    trace.all_in_windows &= lies_well(program, call, call.to, bytes);
    trace.calls.push_back(
        {call.name, call.count, call.peer, offset_of(call.from), offset_of(call.to)});
  }
  for (const fakes::Copy& copy : world().copies) {
    const int64_t first = static_cast<const char*>(copy.to) - static_cast<const char*>(result);
    if (first < 0 || first >= int64_t{1} << 25) continue;
    trace.landed.emplace_back(first, static_cast<int64_t>(copy.bytes));
    trace.copied_from_received &=
        program.plan.pattern == TILEPOST_ALL_GATHER_GEMM || was_received(copy.from, copy.bytes);
  }
  tilepost_op_info_t info{};
  REQUIRE(tilepost_op_get_info(setup.op, &info) == TILEPOST_OK);
  trace.out_elements = info.out_elements;
  return trace;
}

// Whether the parts cover [0, end) without gap or overlap.
bool covers(std::vector<std::pair<int64_t, int64_t>> parts, int64_t end) {
  std::ranges::sort(parts);
  int64_t at = 0;
  for (const auto& [first, count] : parts) {
    if (first != at) return false;
    at += count;
  }
  return at == end;
}

}  // namespace

TEST_CASE_METHOD(OnFakes,
                 "symmetric: everything lies in windows, alike on every rank, and lands once") {
  const int ranks = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 7, 128, 300, 512, 1000, 1030);
  const auto pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  const int lanes = pattern == TILEPOST_ALL_GATHER_GEMM ? 1 : GENERATE(1, 2);
  CAPTURE(ranks, m, static_cast<int>(pattern), lanes);
  Program program;
  use_symmetric(program, pattern, ranks, m, lanes);
  tilepost_run_operands_t values = operands();
  const bool gathers = pattern == TILEPOST_ALL_GATHER_GEMM;
  if (gathers) values.gathered = reinterpret_cast<void*>(0x4000000 * 7);
  std::vector<Trace> traces;
  for (int rank = 0; rank < ranks; ++rank) {
    world().windows.clear();
    traces.push_back(trace_of(program, rank, values, gathers ? values.gathered : values.out));
    CHECK(world().live() == 0);
  }
  for (const Trace& trace : traces) {
    CHECK(trace.all_in_windows);
    CHECK(trace.copied_from_received);
    CHECK(covers(trace.landed, gathers ? m * 256 * 2 : trace.out_elements * 2));
  }
  if (pattern == TILEPOST_GEMM_ALL_TO_ALL || gathers) return;  // the messages differ between ranks
  for (const Trace& trace : traces) {
    REQUIRE(trace.calls.size() == traces[0].calls.size());
    for (size_t i = 0; i < trace.calls.size(); ++i) {
      CHECK(trace.calls[i].count == traces[0].calls[i].count);
      CHECK(trace.calls[i].from == traces[0].calls[i].from);
      CHECK(trace.calls[i].to == traces[0].calls[i].to);
    }
  }
}

TEST_CASE_METHOD(Operation,
                 "symmetric: a block is copied to out behind its collective, on its lane") {
  use_symmetric(program, TILEPOST_GEMM_ALL_REDUCE, 2, 512, 2);
  create();
  CHECK(world().cluster_size == 1);
  CHECK(world().max_ctas == 8);  // each of two lanes has half of 16
  REQUIRE(world().windows.size() == 2);
  CHECK(world().windows[0]->comm != world().windows[1]->comm);
  CHECK(world().windows[0]->memory == world().windows[1]->memory);
  const tilepost_run_operands_t values = operands();
  run_logged(values);
  Lines lines;
  for (const std::string& line : world().log)
    if (line.starts_with("allreduce") || line.starts_with("cudaMemcpyAsync")) lines.push_back(line);
  REQUIRE(world().nccl.size() == 2);
  Lines expected;
  for (const NcclCall& call : world().nccl) {
    CHECK(call.from == call.to);
    CHECK(world().copies[expected.size() / 2].from == call.to);
    expected.push_back("allreduce " + call.stream + " " + std::to_string(call.count));
    expected.push_back("cudaMemcpyAsync " + call.stream + " " + std::to_string(call.count * 2));
  }
  CHECK(lines == expected);
  CHECK(world().nccl[0].stream != world().nccl[1].stream);
  CHECK(world().epilogue.out == world().nccl[0].from);
}

TEST_CASE_METHOD(Operation, "symmetric: a consumer reads what was received where it is") {
  const auto pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER);
  program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  use_symmetric(program, pattern, 2, 300);
  create();
  const void* read = nullptr;
  world().on_norm = [&](const void* x, int, int) { read = x; };
  const tilepost_run_operands_t values = operands();
  run_logged(values);
  CHECK(world().copies.empty());
  CHECK(read == world().nccl[0].to);
  CHECK(window_at(read) != nullptr);
}

TEST_CASE_METHOD(
    Operation,
    "symmetric: rows are gathered in the window, and copied where the caller wants them") {
  use_symmetric(program, TILEPOST_ALL_GATHER_GEMM, 2, 512);
  create();
  tilepost_run_operands_t values = operands();
  REQUIRE(run_with(values) == TILEPOST_OK);
  run_logged(values);
  REQUIRE(world().copies.size() == 1);  // of this rank's rows
  values.gathered = reinterpret_cast<void*>(0x4000000 * 7);
  run_logged(values);
  REQUIRE(world().copies.size() == 2);
  CHECK(world().copies[1].to == values.gathered);
  CHECK(world().copies[1].bytes == 512 * 256 * 2);
  CHECK(window_at(world().copies[1].from) != nullptr);
}

TEST_CASE_METHOD(Operation,
                 "symmetric: without a window the operation says so and works as nccl does") {
  const auto pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  const int how = GENERATE(0, 1, 2, 3, 4);
  CAPTURE(static_cast<int>(pattern), how);
  use_symmetric(program, pattern, 2, 300, pattern == TILEPOST_ALL_GATHER_GEMM ? 1 : 2);
  if (how == 0) world().gives_windows = false;
  if (how == 1) world().window_answer = [](int) { return kInvalidUsage; };
  if (how == 2) world().window_answer = [](int) { return kInvalidArgument; };
  if (how == 3)  // only the last lane's registration
    world().window_answer = [last = program.plan.comm_lanes - 1](int n) {
      return n == last ? kInvalidUsage : 0;
    };
  int told = 0;
  if (how == 4)  // only the other rank
    world().exchange = [&](const int64_t* own, int64_t* all, size_t count) {
      say_both(own, all, count);
      if (++told == 3) all[0] = 1;  // the exchange after the plans'
    };
  create();
  CHECK_THAT(tilepost_op_warnings(setup.op),
             Contains("nccl_symmetric: NCCL gave no symmetric window on rank 0") &&
                 Contains("runs as nccl"));
  CHECK(world().windows.size() == static_cast<size_t>(program.plan.comm_lanes));
  CHECK(world().live_windows == 0);
  const tilepost_run_operands_t values = operands();
  run_logged(values);
  CHECK_FALSE(world().nccl.empty());
  std::vector<std::pair<int64_t, int64_t>> landed;
  for (const fakes::Copy& copy : world().copies)
    if (copy.to >= values.out && pattern != TILEPOST_ALL_GATHER_GEMM)
      landed.emplace_back(static_cast<char*>(copy.to) - static_cast<char*>(values.out), copy.bytes);
  const tilepost_op_info_t made = info();
  if (pattern != TILEPOST_ALL_GATHER_GEMM) CHECK(covers(landed, made.out_elements * 2));
}

TEST_CASE_METHOD(Operation,
                 "symmetric: another rank's failure fails this one, and says whose it was") {
  use_symmetric(program, TILEPOST_GEMM_ALL_REDUCE, 2, 512, 2);
  const int at = GENERATE(1, 2);
  int told = 0;
  world().exchange = [&](const int64_t* own, int64_t* all, size_t count) {
    say_both(own, all, count);
    if (++told == 1 + at) all[0] = at == 1 ? TILEPOST_OUT_OF_MEMORY : 2;
  };
  CHECK(setup.create(program) == (at == 1 ? TILEPOST_OUT_OF_MEMORY : TILEPOST_NCCL_ERROR));
  CHECK_THAT(tilepost_last_error(), Contains("rank 0 could not"));
  CHECK(setup.op == nullptr);
}

TEST_CASE_METHOD(
    Operation, "symmetric: an error of NCCL is told by every lane's turn, and is the operation's") {
  use_symmetric(program, TILEPOST_GEMM_REDUCE_SCATTER, 2, 512, 2);
  world().window_answer = [](int n) { return n == 0 ? kSystemError : 0; };
  CHECK(setup.create(program) == TILEPOST_NCCL_ERROR);
  CHECK_THAT(tilepost_last_error(), Contains("ncclCommWindowRegister"));
  CHECK(world().windows.size() == 2);  // both are registered, because the other ranks wait for both
}

TEST_CASE("symmetric: every call of create can fail, cleanly") {
  const auto pattern =
      GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_ALL_GATHER_GEMM);
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    use_symmetric(op.program, pattern, 2, 300, pattern == TILEPOST_ALL_GATHER_GEMM ? 1 : 2);
    check_failing_create(failing, op);
  });
  REQUIRE(failing.calls() > 60);
}

TEST_CASE_METHOD(
    Operation,
    "symmetric: a rank that does not come to the windows is a timeout, and nothing is freed "
    "that may be waited for") {
  use_symmetric(program, TILEPOST_GEMM_ALL_REDUCE, 2, 512);
  int told = 0;
  world().exchange = [&](const int64_t* own, int64_t* all, size_t count) {
    say_both(own, all, count);
    world().collectives_hang = ++told > 1;  // after the exchange of plans
  };
  CHECK(setup.create(program, 0.02) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("the other ranks' windows") && Contains("0.02"));
  CHECK(count_calls("ncclCommWindowRegister") == 0);
  release();
  CHECK(world().aborted_comms > 0);
}

TEST_CASE_METHOD(Operation, "symmetric: after an abort the windows go with their communicators") {
  use_symmetric(program, TILEPOST_GEMM_ALL_REDUCE, 2, 512, 2);
  create(0.02);
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  release();
  CHECK(count_calls("ncclCommWindowDeregister") == 0);
  CHECK(count_calls("ncclMemFree") == 1);
}

TEST_CASE_METHOD(Operation,
                 "symmetric: windows that the device may still use are left to the process") {
  leaves_memory();
  use_symmetric(program, TILEPOST_GEMM_ALL_REDUCE, 2, 512);
  create(0.02);
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  {
    const std::lock_guard lock(world().mutex);
    for (fakes::Stream* stream : world().streams) stream->hang = {true, [] { return false; }};
  }
  release();
  CHECK(count_calls("ncclCommWindowDeregister") == 0);
  CHECK(count_calls("ncclMemFree") == 0);
  CHECK(world().live_allocations > 0);
}

TEST_CASE_METHOD(Operation, "symmetric: regions of a window are apart from each other") {
  const auto pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  use_symmetric(program, pattern, 3, GENERATE(1, 300, 1000));
  const auto layout =
      tilepost::cuda::window_layout(program.plan, tilepost::most_sizes(program.plan));
  CHECK((layout.send.bytes > 0) == (pattern != TILEPOST_ALL_GATHER_GEMM));
  CHECK((layout.gathered.bytes > 0) == (pattern == TILEPOST_ALL_GATHER_GEMM));
  CHECK((layout.received.bytes > 0) ==
        (pattern == TILEPOST_GEMM_REDUCE_SCATTER || pattern == TILEPOST_GEMM_ALL_TO_ALL));
  CHECK(layout.received.at >= layout.send.at + layout.send.bytes);
  CHECK(layout.gathered.at >= layout.received.at + layout.received.bytes);
  CHECK(layout.bytes >= layout.gathered.at + layout.gathered.bytes);
  CHECK(layout.bytes % 4096 == 0);
}

TEST_CASE_METHOD(Operation,
                 "symmetric: a short share of a run with any m is received in the window too") {
  use_symmetric(program, TILEPOST_GEMM_REDUCE_SCATTER, 2, 1030);
  program.plan.any_m = 1;
  program.plan.model.wave = 100;
  program.plan.model.latency = 5;
  program.plan.model.per_byte = 0.001;
  program.plan.model.sequence_wave = 150;
  program.plan.model.sequence_latency = 5;
  program.plan.model.sequence_per_byte = 0.001;
  program.plan.model.sequence_ctas = 132;
  create();
  tilepost_run_operands_t values = operands();
  int overlapped = 0;
  for (values.m = 1; values.m <= 1030; values.m += 7) {
    CAPTURE(values.m);
    run_logged(values);
    const bool overlaps = count_calls("wait ") > 0;
    overlapped += overlaps;
    int64_t copied = 0;
    for (const fakes::Copy& copy : world().copies) copied += static_cast<int64_t>(copy.bytes);
    const int64_t own = values.m - (values.m + 1) / 2;  // rows on rank 1
    if (overlaps) CHECK(copied == own * 256 * 2);
    for (const NcclCall& call : world().nccl) {
      const auto bytes = static_cast<int64_t>(call.count) * 2;
      if (overlaps) CHECK(lies_well(program, call, call.to, bytes));
      if (overlaps) CHECK(offset_of(call.to) >= 0);
    }
  }
  CHECK(overlapped > 20);
}

TEST_CASE_METHOD(Operation, "symmetric: runs in sequence have no use for windows") {
  use_symmetric(program, TILEPOST_GEMM_ALL_REDUCE, 2, 512);
  program.plan.any_m = 1;
  program.plan.model.wave = 100;
  program.plan.model.latency = 5;
  program.plan.model.sequence_wave = 1;
  program.plan.model.sequence_ctas = 132;
  tilepost_run_operands_t values = operands();
  values.m = 128;
  create();
  run_logged(values);
  REQUIRE(world().nccl.size() == 1);
  CHECK(world().nccl[0].to == values.out);
  CHECK(world().copies.empty());
}
