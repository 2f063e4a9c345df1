// Many runs of generated programs on real GPUs, which must stay right and lose no memory.
//
//   stress [program …] [--runs 1000] [--cases 100] [--cycles 50]
//
// Programs for any m and routed programs also go through `cases` cases of rows and routes. Every
// run has new random operands. Every element is compared exactly with a reference that shares no
// code with the product.
#include <nccl.h>

#include <algorithm>
#include <memory>

#include "tests/gpu/checker.h"

using namespace gpu_test;

namespace {

constexpr int kSets = 4;
constexpr size_t kLeakBytes = size_t{8} << 20;  // CUDA allocates in blocks of 2 MiB

struct Rank {
  tilepost::Comm comm;
  tilepost::Op op;
};

void make(Ranks& ranks, int rank, const tilepost_program_t& program, Rank& made) {
  TILEPOST_OK_(tilepost::Comm::init(ranks.new_id(rank), rank, ranks.world(), made.comm));
  TILEPOST_OK_(tilepost::Op::create(made.comm, &program, made.op));
}

// Memory may be allocated and freed only while no rank has a run in flight. With peer access
// between the GPUs of one process, cudaMalloc and cudaFree on one GPU may wait for other GPUs,
// whose collectives wait for this rank. So every test has a barrier after it has made its Checker
// and another one before the Checker's end.

void test_back_to_back(Ranks& ranks, const tilepost_program_t& program, tilepost::Op& op, int rank,
                       int runs) {
  Checker checker(program, op, rank, kSets);
  ranks.barrier();
  for (int first = 0; first < runs; first += kSets) {
    for (int i = 0; i < kSets; ++i) checker.fill_set(i, first + i);
    for (int i = 0; i < kSets; ++i) TILEPOST_OK_(checker.run_set(op, i));
    for (int i = 0; i < kSets; ++i) checker.check_set(i, first + i);
  }
  const auto wrong = checker.mismatches();
  EXPECT(wrong == 0, std::to_string(wrong) + " wrong elements in " + std::to_string(runs) +
                         " runs, rank " + std::to_string(rank));
  TILEPOST_OK_(op.synchronize());
  ranks.barrier();
}

// Runs with rows and routes that change from run to run. They must not lose memory.
void test_cases(Ranks& ranks, const tilepost_program_t& program, tilepost::Op& op, int rank,
                int cases) {
  const tilepost_plan_t& plan = plan_of(program);
  if (!plan.any_m && !is_routed(plan)) return;
  Checker checker(program, op, rank, kSets);
  ranks.barrier();
  for (int i = 1; i <= cases; ++i) {
    // Some numbers of rows come again, and use what was made for them.
    checker.choose(op, static_cast<uint32_t>(i % 3 == 0 ? i / 3 % 40 : i));
    for (int set = 0; set < kSets; ++set) checker.fill_set(set, 7000 + i * kSets + set);
    for (int set = 0; set < kSets; ++set) TILEPOST_OK_(checker.run_set(op, set));
    for (int set = 0; set < kSets; ++set) checker.check_set(set, 7000 + i * kSets + set);
    if (i % 100 != 0 && i != cases) continue;
    const auto wrong = checker.mismatches();
    EXPECT(wrong == 0, std::to_string(wrong) + " wrong elements by case " + std::to_string(i) +
                           ", rank " + std::to_string(rank));
  }
  TILEPOST_OK_(op.synchronize());
  checker.choose(op, 0);
  ranks.barrier();
}

// Replays a captured run, with eager runs and replays of another graph in between.
void test_graph(Ranks& ranks, const tilepost_program_t& program, tilepost::Op& op, int rank,
                int replays) {
  Checker checker(program, op, rank, 2);
  ranks.barrier();
  CapturedRun captured(checker, op, 0), last(checker, op, 1);
  for (int i = 0; i < replays; ++i) {
    const auto seed = static_cast<uint32_t>(1000000 + 2 * i);
    checker.fill_set(0, seed);
    checker.fill_set(1, seed + 1);
    captured.replay();
    if (i % 3 == 0) TILEPOST_OK_(checker.run_set(op, 1));
    if (i % 3 == 1) last.replay();
    checker.check_set(0, seed);
    if (i % 3 != 2) checker.check_set(1, seed + 1);
  }
  EXPECT(checker.mismatches() == 0, "a replayed graph, or an eager run between replays");
  TILEPOST_OK_(op.synchronize());
  ranks.barrier();
}

void expect_refused(const tilepost::Status& status, const char* words) {
  EXPECT(status.result() == TILEPOST_INVALID_ARGUMENT, status.name());
  EXPECT(status.text().find(words) != std::string::npos, status.text());
}

void test_arguments(Ranks& ranks, const tilepost_program_t& program, tilepost::Op& op, int rank) {
  Checker checker(program, op, rank, 1);
  const auto& set = checker.set(0);
  cudaStream_t stream = checker.stream();
  const auto* past = static_cast<const char*>(set.a) + 2;
  expect_refused(op.run(nullptr, set.b, set.out, stream), "a is null");
  expect_refused(op.run(past, set.b, set.out, stream), "multiple of 16");
  void* pageable = std::aligned_alloc(64, 64);
  expect_refused(op.run(set.a, pageable, set.out, stream), "device memory");
  std::free(pageable);
  const int other = (rank + 1) % num_gpus();
  cudaStream_t far = nullptr;
  CUDA_OK(cudaSetDevice(other));
  CUDA_OK(cudaStreamCreate(&far));
  CUDA_OK(cudaSetDevice(rank));
  if (other != rank)
    expect_refused(op.run(set.a, set.b, set.out, far), "the stream belongs to device");
  CUDA_OK(cudaStreamDestroy(far));
  int current = -1;
  CUDA_OK(cudaGetDevice(&current));
  EXPECT(current == rank, "the current device was changed");
  ranks.barrier();
  checker.run_and_check(op, 77);
  ranks.barrier();
}

// Adopts the caller's communicator, which must stay usable.
void test_adopt(Ranks& ranks, int rank, const tilepost_program_t& program) {
  const tilepost_unique_id_t id = ranks.new_id(rank);
  ncclUniqueId nccl_id;
  std::memcpy(&nccl_id, id.bytes, sizeof nccl_id);
  ncclComm_t nccl = nullptr;
  EXPECT(ncclCommInitRank(&nccl, ranks.world(), nccl_id, rank) == ncclSuccess, "");
  {
    Rank made;
    TILEPOST_OK_(tilepost::Comm::adopt(nccl, made.comm));
    TILEPOST_OK_(tilepost::Op::create(made.comm, &program, made.op));
    Checker checker(program, made.op, rank, 1);
    ranks.barrier();
    for (uint32_t seed = 500; seed < 510; ++seed) checker.run_and_check(made.op, seed);
    ranks.barrier();
  }
  Device device;
  auto* word = device.allocate<float>(sizeof(float));
  CUDA_OK(cudaMemsetAsync(word, 0, sizeof(float), device.stream()));
  EXPECT(ncclAllReduce(word, word, 1, ncclFloat, ncclSum, nccl, device.stream()) == ncclSuccess,
         "");
  device.synchronize();
  EXPECT(ncclCommDestroy(nccl) == ncclSuccess, "");
}

// Whether operations of the program may share memory with each other.
bool shares_memory(const tilepost_program_t& program) {
  const tilepost_plan_t& plan = plan_of(program);
  return plan.access == TILEPOST_ACCESS_READ ||
         (plan.access == TILEPOST_ACCESS_WRITE && plan.sum != TILEPOST_SUM_ADDED);
}

// Another program with as many ranks whose operations may share memory, or null.
const tilepost_program_t* partner_of(const tilepost_program_t& program) {
  for (int i = 0; i < kNumPrograms; ++i)
    if (kPrograms[i] != &program && shares_memory(*kPrograms[i]) &&
        plan_of(*kPrograms[i]).ranks == plan_of(program).ranks)
      return kPrograms[i];
  return nullptr;
}

// Makes `stream` wait for everything that is on `leader`.
void follow(cudaStream_t stream, cudaStream_t leader) {
  cudaEvent_t event = nullptr;
  CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CUDA_OK(cudaEventRecord(event, leader));
  CUDA_OK(cudaStreamWaitEvent(stream, event, 0));
  CUDA_OK(cudaEventDestroy(event));
}

// Operations that share memory, each on a stream of its own: two of one program and, if there is
// one, one of another program. The memory of the other program may be too small or too large to be
// shared.
class Sharers {
 public:
  static constexpr int kLentOutput = 2;  // the last set: the lent output, if there is one

  Sharers(const tilepost::Comm& comm, const tilepost_program_t& program, int rank) {
    std::vector<const tilepost_program_t*> programs = {&program, &program};
    if (const tilepost_program_t* partner = partner_of(program)) programs.push_back(partner);
    tilepost_options_t options = tilepost_default_options();
    options.share_memory = 1;
    ops_.resize(programs.size());
    for (size_t i = 0; i < ops_.size(); ++i)
      TILEPOST_OK_(tilepost::Op::create(comm, programs[i], ops_[i], options));
    for (size_t i = 0; i < ops_.size(); ++i)
      checkers_.push_back(std::make_unique<Checker>(*programs[i], ops_[i], rank, kLentOutput + 1));
  }

  // Chooses a case for all. Collective. Nothing may be in flight.
  void choose(uint32_t seed) {
    for (size_t i = 0; i < ops_.size(); ++i) checkers_[i]->choose(ops_[i], seed);
  }

  // Puts runs one after the other on as many streams. Each call begins with another operation.
  void run_all(uint32_t seed) {
    for (uint32_t run = 0; run < num_runs(); ++run)
      checkers_[run / kLentOutput]->fill_set(run % kLentOutput, seed + run);
    for (uint32_t run = 0; run < num_runs(); ++run)
      run_one((run + seed) % ops_.size(), run / ops_.size());
    for (uint32_t run = 0; run < num_runs(); ++run)
      checkers_[run / kLentOutput]->check_set(run % kLentOutput, seed + run);
  }

  // Runs that use lent outputs. The next run of any operation overwrites such an output.
  void run_to_lent_outputs(uint32_t seed) {
    for (size_t i = 0; i < ops_.size(); ++i) {
      follow_all(i);
      checkers_[i]->fill_set(kLentOutput, seed);
      TILEPOST_OK_(checkers_[i]->run_set(ops_[i], kLentOutput));
      checkers_[i]->check_set(kLentOutput, seed);
      lead_all(i);
    }
  }

  unsigned long long finish() {
    unsigned long long wrong = 0;
    for (const auto& checker : checkers_) wrong += checker->mismatches();
    for (tilepost::Op& op : ops_) TILEPOST_OK_(op.synchronize());
    return wrong;
  }

 private:
  uint32_t num_runs() const { return static_cast<uint32_t>(kLentOutput * ops_.size()); }

  // Operations without shared memory must be ordered by the caller: one may wait for NCCL while the
  // other holds the SMs that NCCL needs.
  void run_one(size_t i, size_t set) {
    if (i > 1) follow_all(i);
    TILEPOST_OK_(checkers_[i]->run_set(ops_[i], static_cast<int>(set)));
    if (i > 1) lead_all(i);
  }
  void follow_all(size_t i) {
    for (const auto& other : checkers_) follow(checkers_[i]->stream(), other->stream());
  }
  void lead_all(size_t i) {
    for (const auto& other : checkers_) follow(other->stream(), checkers_[i]->stream());
  }

  std::vector<tilepost::Op> ops_;
  std::vector<std::unique_ptr<Checker>> checkers_;
};

void test_shared(Ranks& ranks, int rank, const tilepost_program_t& program) {
  constexpr uint32_t kRounds = 3;
  if (!shares_memory(program)) return;
  tilepost::Comm comm;
  TILEPOST_OK_(tilepost::Comm::init(ranks.new_id(rank), rank, ranks.world(), comm));
  Sharers sharers(comm, program, rank);
  for (uint32_t round = 0; round < kRounds; ++round) {
    sharers.choose(round);
    ranks.barrier();
    sharers.run_all(20000 + 100 * round);
    sharers.run_to_lent_outputs(30000 + round);
    const auto wrong = sharers.finish();
    EXPECT(wrong == 0, std::to_string(wrong) +
                           " wrong elements of operations that share memory, "
                           "round " +
                           std::to_string(round) + ", rank " + std::to_string(rank));
    ranks.barrier();
  }
}

// Runs with outputs that are registered, not registered, and lent, one after the other and in
// graphs. One output is registered and unregistered between the runs without a meeting of the
// ranks.
void test_registered(Ranks& ranks, int rank, const tilepost_program_t& program, int runs) {
  constexpr int kComing = 1;  // the set whose output is registered and unregistered
  Rank made;
  make(ranks, rank, program, made);
  Checker checker(program, made.op, rank, kSets);
  checker.join_outs();
  ranks.barrier();
  checker.register_out(made.op, 0);
  if (checker.lends()) {
    bool is_there = false;
    ranks.barrier();
    checker.run_and_check(made.op, 0);
    ranks.barrier();
    CapturedRun graph(checker, made.op);
    ranks.barrier();
    for (int first = 0; first < runs; first += kSets) {
      for (int i = 0; i < kSets; ++i) checker.fill_set(i, first + i);
      graph.replay();
      if (first / kSets % 4 == 1) {
        is_there ? checker.unregister_out(made.op, kComing)
                 : checker.register_out(made.op, kComing);
        is_there = !is_there;
      }
      for (int i = 1; i < kSets; ++i) TILEPOST_OK_(checker.run_set(made.op, i));
      for (int i = 0; i < kSets; ++i) checker.check_set(i, first + i);
    }
    const auto wrong = checker.mismatches();
    EXPECT(wrong == 0, std::to_string(wrong) + " wrong elements with registered outputs, rank " +
                           std::to_string(rank));
    if (is_there) checker.unregister_out(made.op, kComing);
    TILEPOST_OK_(made.op.synchronize());
    ranks.barrier();
  }
  checker.unregister_out(made.op, 0);
  ranks.barrier();
}

size_t free_bytes() {
  size_t available = 0, total = 0;
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaMemGetInfo(&available, &total));
  return available;
}

void test_leaks(Ranks& ranks, int rank, const tilepost_program_t& program, int cycles) {
  size_t before = 0;
  for (int i = 0; i < cycles + 2; ++i) {
    {
      Rank made;
      make(ranks, rank, program, made);
      Checker checker(program, made.op, rank, 1);
      ranks.barrier();
      checker.run_and_check(made.op, 9000 + i);
      ranks.barrier();
    }
    ranks.barrier();  // NCCL frees a process's communicators when the last one is destroyed
    // Memory that stays after the first rounds is CUDA's and NCCL's.
    if (i == 1) before = free_bytes();
  }
  const size_t after = free_bytes();
  const size_t lost = before > after ? before - after : 0;
  EXPECT(lost <= kLeakBytes, std::to_string(lost) + " bytes lost in " + std::to_string(cycles) +
                                 " cycles, rank " + std::to_string(rank));
}

void test_program(const tilepost_program_t& program, int runs, int cases, int cycles) {
  Ranks ranks(plan_of(program).ranks);
  ranks.run([&](int rank) {
    {
      Rank made;
      make(ranks, rank, program, made);
      if (rank == 0 && *made.op.warnings() != '\0') std::printf("# %s", made.op.warnings());
      test_back_to_back(ranks, program, made.op, rank, runs);
      test_cases(ranks, program, made.op, rank, cases);
      test_graph(ranks, program, made.op, rank, runs);
      test_arguments(ranks, program, made.op, rank);
      ranks.barrier();
    }
    test_adopt(ranks, rank, program);
    test_shared(ranks, rank, program);
    test_registered(ranks, rank, program, runs);
    test_leaks(ranks, rank, program, cycles);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const int runs = static_cast<int>(arguments.number("runs", 1000));
  const int cases = static_cast<int>(arguments.number("cases", 100));
  const int cycles = static_cast<int>(arguments.number("cycles", 50));
  return run_programs(arguments, [&](const tilepost_program_t& program) {
    test_program(program, runs, cases, cycles);
  });
}
