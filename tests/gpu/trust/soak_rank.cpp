#include "tests/gpu/trust/soak_rank.h"

#include <malloc.h>
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "runtime/map/enumerators.h"
#include "runtime/map/patterns.h"
#include "tests/gpu/checker.h"

namespace gpu_test {
namespace {

constexpr int kStreams = 3, kSets = 3;
constexpr int kMostPerRound = 12;
constexpr int kMostGraphs = 24;  // of an operation with varying rows: graphs keep schedules
constexpr double kLeakMiB = 8, kHostLeakMiB = 48;  // CUDA and NCCL allocate in blocks

std::string kind_of(const tilepost_plan_t& plan) {
  std::string kind =
      std::string(tilepost::name_of(plan.pattern)) + " " + tilepost::row_of(plan.transport).name;
  if (plan.comm_lanes > 1 && plan.access == TILEPOST_ACCESS_MESSAGES) kind += ", lanes";
  if (plan.any_m) kind += ", any m";
  return kind;
}

// Whether operations of the program may share memory with each other.
bool may_share(const tilepost_program_t& program) {
  const tilepost_plan_t& plan = plan_of(program);
  return plan.access == TILEPOST_ACCESS_READ || plan.access == TILEPOST_ACCESS_TILES ||
         (plan.access == TILEPOST_ACCESS_WRITE && plan.sum != TILEPOST_SUM_ADDED);
}

struct Memory {
  double device_mib, host_mib;
};
Memory memory_now() {
  size_t available = 0, total = 0;
  CUDA_OK(cudaDeviceSynchronize());
  malloc_trim(0);  // memory that the allocator keeps for later is no leak
  CUDA_OK(cudaMemGetInfo(&available, &total));
  long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  constexpr double kMiB = 1 << 20;
  return {static_cast<double>(total - available) / kMiB,
          static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / kMiB};
}

// Makes `stream` wait for everything that is on `leader`.
void follow(cudaStream_t stream, cudaStream_t leader) {
  if (stream == leader) return;
  cudaEvent_t event = nullptr;
  CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CUDA_OK(cudaEventRecord(event, leader));
  CUDA_OK(cudaStreamWaitEvent(stream, event, 0));
  CUDA_OK(cudaEventDestroy(event));
}

tilepost_options_t options_of(const SoakOptions& options, bool shares) {
  tilepost_options_t made = tilepost_default_options();
  made.deadline_seconds = options.deadline;
  made.share_memory = shares;
  return made;
}

// One operation with its operands, and graphs of runs with these operands.
class Member {
 public:
  Member(const tilepost::Comm& comm, const tilepost_program_t& its_program, int rank,
         const SoakOptions& options, bool may_share_its)
      : program(its_program), shares(may_share_its), registers(!options.threads) {
    TILEPOST_OK_(tilepost::Op::create(comm, &program, op, options_of(options, shares)));
    // The last set is never used, because another run may overwrite a lent output.
    checker = std::make_unique<Checker>(program, op, rank, kSets + 1);
    if (registers) checker->register_out(op, 0);
  }
  ~Member() {
    for (auto& graph : graphs) graph.reset();
    if (registers) checker->unregister_out(op, 0);
    op = tilepost::Op();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  bool varies() const { return plan_of(program).any_m || is_routed(plan_of(program)); }

  // Chooses new rows or another route. Graphs of the old ones are dropped.
  void choose(uint32_t seed) {
    for (auto& graph : graphs) graph.reset();
    checker->choose(op, seed);
    ran = false;
  }

  const tilepost_program_t& program;
  const bool shares;
  // Not for threads: with peer access, making a graph waits for kernels of other ranks.
  const bool registers;
  tilepost::Op op;
  std::unique_ptr<Checker> checker;
  std::array<std::unique_ptr<CapturedRun>, kSets> graphs;
  bool ran = false;  // whether it has run with these rows, which it must before a capture
  int captured = 0;
  int64_t eager_runs = 0, replays = 0;
};

class Mixed {
 public:
  Mixed(const SoakOptions& options, int rank, Meeting& meeting)
      : options_(options),
        rank_(rank),
        meeting_(meeting),
        random_(options.seed),
        delays_(options.seed + 1 + static_cast<uint32_t>(rank)) {
    for (cudaStream_t& stream : streams_)
      CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const int world = plan_of(*options.programs[0]).ranks;
    TILEPOST_OK_(tilepost::Comm::init(meeting.new_id(rank), rank, world, comm_));
    // The largest operation that shares memory comes first, so that its memory serves the others.
    std::vector<const tilepost_program_t*> programs = options.programs;
    if (static_cast<int>(programs.size()) > options.most_operations) {
      std::shuffle(programs.begin(), programs.end(), random_);
      programs.resize(static_cast<size_t>(options.most_operations));
    }
    for (const tilepost_program_t* program : programs) {
      const bool shares = may_share(*program) && random_() % 1000 < options.shared * 1000;
      members_.push_back(std::make_unique<Member>(comm_, *program, rank, options, shares));
    }
    meeting.barrier(rank);
  }

  ~Mixed() {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  Mixed(const Mixed&) = delete;
  Mixed& operator=(const Mixed&) = delete;

  void run() {
    const auto begin = Clock::now();
    auto told = begin;
    while (!is_over(begin)) {
      if (round_ % 4 == 3) vary();
      issue();
      check();
      ++round_;
      if (rank_ == 0 && seconds_since(told) > 10) {
        told = Clock::now();
        std::printf("# seed %u: %lld runs in %d rounds, %.0f s\n", options_.seed,
                    static_cast<long long>(done_), round_, seconds_since(begin));
        std::fflush(stdout);
      }
    }
    report(seconds_since(begin));
  }

 private:
  struct Run {
    Member* member;
    int set;
    cudaStream_t stream;
    bool replayed;
    uint32_t seed;
  };

  // Rank 0 decides whether time is up.
  bool is_over(Clock::time_point begin) {
    const bool over = done_ >= options_.runs || seconds_since(begin) > options_.seconds;
    return meeting_.meet(rank_, over ? "stop" : "go") == "stop";
  }

  // Chooses other rows and routes for some operations. All ranks draw the same numbers. Nothing is
  // in flight.
  void vary() {
    for (auto& member : members_) {
      if (!member->varies() || random_() % 3 != 0) continue;
      member->choose(random_() % 4 == 0 ? random_() % 12 : random_() % 4000);
      // In one process, memory may be allocated and freed only while no rank has a run in flight.
      if (options_.threads) meeting_.barrier(rank_);
    }
  }

  void issue() {
    draw();
    for (const Run& run : runs_) {
      run.member->checker->use(run.stream);
      run.member->checker->fill_set(run.set, run.seed);
      capture(run);
    }
    if (random_() % 2 == 0)
      for (cudaStream_t stream : streams_) CUDA_OK(cudaStreamSynchronize(stream));
    for (const Run& run : runs_) {
      delay();
      start(run);
    }
    // Waits as a caller does, one operation after the other.
    for (const Run& run : runs_) wait(run);
    done_ += static_cast<int64_t>(runs_.size());
  }

  // Lets ranks come to a run at different times.
  void delay() {
    if (options_.delay_us > 0 && delays_() % 2 == 0) usleep(delays_() % options_.delay_us);
  }

  void draw() {
    runs_.clear();
    std::set<std::pair<Member*, int>> used;
    const auto count = 1 + random_() % kMostPerRound;
    for (uint32_t i = 0; i < count; ++i) {
      Member* member = members_[random_() % members_.size()].get();
      const int set = static_cast<int>(random_() % kSets);
      const bool replayed = random_() % 3 == 0;
      cudaStream_t stream = streams_[random_() % kStreams];
      const auto seed = static_cast<uint32_t>(random_());
      if (used.emplace(member, set).second) runs_.push_back({member, set, stream, replayed, seed});
    }
  }

  // Makes the graph for a run that is to be replayed. Where it makes none, the run is eager.
  void capture(Run run) {
    Member& member = *run.member;
    auto& graph = member.graphs[static_cast<size_t>(run.set)];
    if (!run.replayed || graph || !member.ran) return;
    if (member.varies() && member.captured >= kMostGraphs) return;
    ++member.captured;
    graph = std::make_unique<CapturedRun>(*member.checker, member.op, run.set);
  }

  void start(const Run& run) {
    Member& member = *run.member;
    auto& graph = member.graphs[static_cast<size_t>(run.set)];
    const bool replays = run.replayed && graph != nullptr;
    // The runtime orders only eager runs. The caller orders replays behind runs that they may meet.
    const bool ordered = replays || options_.ordered;
    if (ordered)
      for (cudaStream_t other : streams_) follow(run.stream, other);
    if (replays) {
      graph->replay(run.stream);
      ++member.replays;
    } else {
      member.checker->use(run.stream);
      if (const auto status = member.checker->run_set(member.op, run.set); !status)
        fail(run, described(status));
      member.ran = true;
      ++member.eager_runs;
    }
    if (ordered)
      for (cudaStream_t other : streams_) follow(other, run.stream);
  }

  void wait(const Run& run) {
    if (const auto status = run.member->op.synchronize(); !status) fail(run, described(status));
    while (cudaStreamQuery(run.stream) == cudaErrorNotReady) {
      const auto status = run.member->op.status();
      if (!status && !status.in_progress()) fail(run, described(status));
      usleep(20);
    }
  }

  void check() {
    for (const Run& run : runs_) {
      run.member->checker->use(streams_[0]);
      run.member->checker->check_set(run.set, run.seed);
    }
    CUDA_OK(cudaStreamSynchronize(streams_[0]));
    std::set<Member*> seen;
    for (const Run& run : runs_)
      if (seen.insert(run.member).second)
        if (const auto wrong = run.member->checker->mismatches(); wrong != 0)
          fail(run, std::to_string(wrong) + " wrong elements");
  }

  [[noreturn]] void fail(const Run& failed, const std::string& what) {
    std::string text = std::string(failed.member->program.name) + ", rank " +
                       std::to_string(rank_) + ", seed " + std::to_string(options_.seed) +
                       ", round " + std::to_string(round_) + ", after " + std::to_string(done_) +
                       " runs: " + what + "; the round:";
    for (const Run& run : runs_) {
      const auto stream = std::find(streams_.begin(), streams_.end(), run.stream);
      text += std::string(" ") + run.member->program.name + (run.replayed ? " replay" : "") +
              (run.member->shares ? " shared" : "") + " m " +
              std::to_string(run.member->checker->rows()) + " stream " +
              std::to_string(stream - streams_.begin()) + (run.member == failed.member ? "!" : "") +
              ",";
    }
    meeting_.row("mixed", "FAIL",
                 {std::to_string(done_), "", std::to_string(options_.seed), "", "", text});
    die(__FILE__, __LINE__, text);
  }

  void report(double seconds) {
    if (rank_ != 0) return;
    std::map<std::string, std::pair<int64_t, int64_t>> counts;
    for (const auto& member : members_) {
      const std::string kind =
          kind_of(plan_of(member->program)) + (member->shares ? ", shared" : "");
      counts[kind].first += member->eager_runs;
      counts[kind].second += member->replays;
    }
    const std::string seed = std::to_string(options_.seed);
    for (const auto& [kind, count] : counts)
      meeting_.row("mixed " + kind, "PASS",
                   {std::to_string(count.first), std::to_string(count.second), seed, "", "", ""});
    meeting_.row("mixed", "PASS",
                 {std::to_string(done_), "", seed, "", "",
                  std::to_string(round_) + " rounds of " + std::to_string(members_.size()) +
                      " operations in " + in_text(seconds) + " s"});
  }

  const SoakOptions& options_;
  const int rank_;
  Meeting& meeting_;
  std::mt19937 random_;  // gives the same numbers on all ranks
  std::mt19937 delays_;
  std::array<cudaStream_t, kStreams> streams_{};
  tilepost::Comm comm_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Run> runs_;
  int round_ = 0;
  int64_t done_ = 0;
};

// Replays one graph, each time with other operands.
void test_graph(const SoakOptions& options, int rank, Meeting& meeting,
                const tilepost_program_t& program) {
  tilepost::Comm comm;
  const int world = plan_of(program).ranks;
  TILEPOST_OK_(tilepost::Comm::init(meeting.new_id(rank), rank, world, comm));
  int64_t done = 0;
  {
    Member member(comm, program, rank, options, false);
    Checker& checker = *member.checker;
    meeting.barrier(rank);
    checker.run_and_check(member.op, options.seed);
    CapturedRun graph(checker, member.op);
    for (; done < options.runs; ++done) {
      const auto seed = options.seed + 1 + static_cast<uint32_t>(done);
      checker.fill_set(0, seed);
      graph.replay();
      checker.check_set(0, seed);
      if (done % 50 != 49) continue;
      TILEPOST_OK_(member.op.synchronize());
      EXPECT(checker.mismatches() == 0, std::string(program.name) + ", replay " +
                                            std::to_string(done) + ", seed " +
                                            std::to_string(options.seed));
    }
    EXPECT(checker.mismatches() == 0, program.name);
    TILEPOST_OK_(member.op.synchronize());
    meeting.barrier(rank);
  }
  if (rank == 0)
    meeting.row(std::string("graph ") + program.name, "PASS",
                {"1", std::to_string(done), std::to_string(options.seed), "", "", ""});
}

// Runs with the numbers of rows that were asked for, eager and replayed.
void test_sweep(const SoakOptions& options, int rank, Meeting& meeting,
                const tilepost_program_t& program) {
  tilepost::Comm comm;
  const tilepost_plan_t& plan = plan_of(program);
  EXPECT(!is_routed(plan), std::string(program.name) + " has routes, not numbers of rows alone");
  TILEPOST_OK_(tilepost::Comm::init(meeting.new_id(rank), rank, plan.ranks, comm));
  constexpr int kEager = 2, kReplays = 2;
  std::string swept;
  int64_t eager = 0, replays = 0;
  {
    Member member(comm, program, rank, options, false);
    Checker& checker = *member.checker;
    meeting.barrier(rank);
    uint32_t seed = options.seed;
    for (const int64_t m : options.rows) {
      if (m > most_rows(plan) || (!plan.any_m && m != most_rows(plan))) continue;
      checker.choose_rows(member.op, m);
      for (int i = 0; i < kEager; ++i, ++eager) checker.run_and_check(member.op, ++seed);
      CapturedRun graph(checker, member.op);
      for (int i = 0; i < kReplays; ++i, ++replays) {
        checker.fill_set(0, ++seed);
        graph.replay();
        checker.check_set(0, seed);
      }
      TILEPOST_OK_(member.op.synchronize());
      EXPECT(checker.mismatches() == 0,
             std::string(program.name) + ", replayed, m " + std::to_string(m));
      swept += " " + std::to_string(m);
    }
    meeting.barrier(rank);
  }
  if (rank == 0)
    meeting.row(std::string("sweep ") + program.name, "PASS",
                {std::to_string(eager), std::to_string(replays), std::to_string(options.seed), "",
                 "", "m" + swept});
}

// The host memory, in MiB, that NCCL alone keeps for a communicator with two splits, for all ranks
// of the process together. tilepost's communicators make the same calls, so their memory grows by
// the same amount without tilepost.
double kept_by_nccl(int rank, int world, Meeting& meeting) {
  constexpr int kSettled = 4, kMeasured = 12, kSplits = 2;
  Memory before{}, after{};
  for (int i = 0; i < kSettled + kMeasured; ++i) {
    const tilepost_unique_id_t made = meeting.new_id(rank);
    ncclUniqueId id;
    static_assert(sizeof(id) <= sizeof(made));
    std::memcpy(&id, &made, sizeof(id));
    ncclComm_t comm = nullptr;
    std::array<ncclComm_t, kSplits> splits{};
    EXPECT(ncclCommInitRank(&comm, world, id, rank) == ncclSuccess, "NCCL alone");
    for (ncclComm_t& split : splits)
      EXPECT(ncclCommSplit(comm, 0, rank, &split, nullptr) == ncclSuccess, "NCCL alone");
    for (ncclComm_t split : splits) ncclCommDestroy(split);
    ncclCommDestroy(comm);
    meeting.barrier(rank);
    (i < kSettled ? before : after) = memory_now();
    meeting.barrier(rank);
  }
  return (after.host_mib - before.host_mib) / kMeasured;
}

// Makes operations, runs each once and destroys it. Every 20th time the communicator is destroyed
// too. Host memory that NCCL alone would keep is reported, but not counted as tilepost's.
void test_cycles(const SoakOptions& options, int rank, Meeting& meeting,
                 const tilepost_program_t& program, double nccl_mib) {
  constexpr int64_t kPerComm = 20, kSettled = 2 * kPerComm;
  const int world = plan_of(program).ranks;
  const auto begin = Clock::now();
  Memory before{}, after{};
  int64_t done = 0;
  while (done < options.runs && done % kPerComm == 0) {
    tilepost::Comm comm;
    TILEPOST_OK_(tilepost::Comm::init(meeting.new_id(rank), rank, world, comm));
    for (int64_t i = 0; i < kPerComm; ++i, ++done) {
      {
        Member member(comm, program, rank, options, done % 3 == 0 && may_share(program));
        meeting.barrier(rank);
        member.checker->run_and_check(member.op, options.seed + static_cast<uint32_t>(done));
        meeting.barrier(rank);
      }
      if (options.threads) meeting.barrier(rank);
    }
    comm = tilepost::Comm();
    meeting.barrier(rank);  // NCCL frees a process's communicators when the last one is destroyed
    after = memory_now();
    if (done <= kSettled) before = after;  // memory that stays so far is CUDA's and NCCL's
    const bool over = seconds_since(options.begin) > options.seconds;
    if (meeting.meet(rank, over ? "stop" : "go") == "stop") break;
  }
  const double device = after.device_mib - before.device_mib;
  const double comms = static_cast<double>(std::max<int64_t>(0, done - kSettled)) / kPerComm;
  const double by_nccl = std::max(0.0, nccl_mib * comms);
  const double host = after.host_mib - before.host_mib - by_nccl;
  const bool flat = device <= kLeakMiB && host <= kHostLeakMiB;
  if (rank == 0)
    meeting.row(
        std::string("cycles ") + program.name, flat ? "PASS" : "FAIL",
        {std::to_string(done), "", std::to_string(options.seed), in_text(device), in_text(host),
         "of " + in_text(after.device_mib) + " and " + in_text(after.host_mib) + " MiB, " +
             in_text(seconds_since(begin)) + " s; NCCL alone would keep " + in_text(by_nccl) +
             " MiB of the host's for its communicators, not counted"});
}

}  // namespace

void soak(const SoakOptions& options, int rank, Meeting& meeting) {
  if (options.mode == "mixed") {
    Mixed(options, rank, meeting).run();
    meeting.barrier(rank);
    return;
  }
  const bool cycles = options.mode == "cycles" && !options.programs.empty();
  const double nccl_mib =
      cycles ? kept_by_nccl(rank, plan_of(*options.programs[0]).ranks, meeting) : 0;
  for (const tilepost_program_t* program : options.programs) {
    const bool over = seconds_since(options.begin) > options.seconds;
    if (meeting.meet(rank, over ? "stop" : "go") == "stop") break;
    if (options.mode == "graph") test_graph(options, rank, meeting, *program);
    if (options.mode == "sweep") test_sweep(options, rank, meeting, *program);
    if (cycles) test_cycles(options, rank, meeting, *program, nccl_mib);
  }
}

}  // namespace gpu_test
