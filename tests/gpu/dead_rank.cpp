// One rank never comes. The others must end within the deadline with an error that names the rank
// and the group, and the process must go on with a new communicator.
//
//   dead_rank [program …] [--deadline 3] [--ahead 200]
//
// This is tried with one run outstanding, then with so many runs that CUDA's launch queue fills up,
// then with a few replays of a graph.
#include <chrono>

#include "tests/gpu/checker.h"

using namespace gpu_test;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double kSlack = 10;  // seconds past the deadline: to read counters, abort and free

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

tilepost_options_t options_with(double deadline) {
  tilepost_options_t options = tilepost_default_options();
  options.deadline_seconds = deadline;
  return options;
}

constexpr int kReplays = 8;

void expect_missed(const tilepost::Status& status, int rank, double elapsed, double deadline) {
  std::printf("# rank %d after %.2f s: %s: %s\n", rank, elapsed, status.name(),
              status.text().c_str());
  EXPECT(status.result() == TILEPOST_TIMEOUT, status.text());
  const std::string name = "rank " + std::to_string(rank) + ": ";
  EXPECT(status.text().find(name) == 0, status.text());
  EXPECT(status.text().find("run") != std::string::npos, status.text());
  EXPECT(status.text().find("group") != std::string::npos, status.text());
  EXPECT(status.text().find("did not arrive") != std::string::npos, status.text());
  EXPECT(elapsed < deadline + kSlack, std::to_string(elapsed) + " s");
}

// Expects the timeout of replays. The runtime sees a replay only when the device has come to it.
void expect_timeout_of_replays(CapturedRun& graph, tilepost::Op& op, int rank, double deadline) {
  const auto begin = Clock::now();
  for (int i = 0; i < kReplays; ++i) graph.replay();
  tilepost::Status status;
  while ((status || status.in_progress()) && seconds_since(begin) < deadline + kSlack) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    status = op.status();
  }
  expect_missed(status, rank, seconds_since(begin), deadline);
}

// Puts runs on the stream until one is refused or there are `ahead` runs. Then expects the error.
void expect_timeout(Checker& checker, tilepost::Op& op, int rank, double deadline, int ahead) {
  const auto begin = Clock::now();
  for (int i = 0; i < ahead; ++i) {
    const tilepost::Status status = checker.run_set(op, 0);
    if (status) continue;
    EXPECT(status.result() == TILEPOST_ABORTED, status.text());
    break;
  }
  const tilepost::Status status = op.synchronize();
  const double elapsed = seconds_since(begin);
  expect_missed(status, rank, elapsed, deadline);
  EXPECT(checker.run_set(op, 0).result() == TILEPOST_ABORTED, "a run after the error");
}

// Tries one missing rank with `ahead` runs outstanding, or with replays of a graph if `ahead` is 0.
void test_missing(Ranks& ranks, int rank, const tilepost_program_t& program, double deadline,
                  int ahead) {
  const bool missing = rank == ranks.world() - 1;
  tilepost::Comm comm;
  TILEPOST_OK_(tilepost::Comm::init(ranks.new_id(rank), rank, ranks.world(), comm));
  {
    tilepost::Op op;
    TILEPOST_OK_(tilepost::Op::create(comm, &program, op, options_with(deadline)));
    Checker checker(program, op, rank, 1);
    checker.run_and_check(op, 1);
    std::optional<CapturedRun> graph;
    if (ahead == 0) graph.emplace(checker, op);
    ranks.barrier();
    if (!missing && graph) expect_timeout_of_replays(*graph, op, rank, deadline);
    if (!missing && !graph) expect_timeout(checker, op, rank, deadline, ahead);
    ranks.barrier();
    graph.reset();
    const auto begin = Clock::now();
    op = tilepost::Op();
    EXPECT(seconds_since(begin) < kSlack, "destroying took too long");
  }
  comm = tilepost::Comm();
}

void test_recovery(Ranks& ranks, int rank, const tilepost_program_t& program) {
  tilepost::Comm comm;
  TILEPOST_OK_(tilepost::Comm::init(ranks.new_id(rank), rank, ranks.world(), comm));
  tilepost::Op op;
  TILEPOST_OK_(tilepost::Op::create(comm, &program, op));
  Checker checker(program, op, rank, 1);
  for (uint32_t seed = 10; seed < 20; ++seed) checker.run_and_check(op, seed);
  ranks.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const double deadline = arguments.number("deadline", 3);
  const int ahead = static_cast<int>(arguments.number("ahead", 200));
  return run_programs(arguments, [&](const tilepost_program_t& program) {
    Ranks ranks(plan_of(program).ranks);
    if (ranks.world() < 2) return;
    ranks.run([&](int rank) {
      test_missing(ranks, rank, program, deadline, 1);
      test_recovery(ranks, rank, program);
      test_missing(ranks, rank, program, deadline, ahead);
      test_recovery(ranks, rank, program);
      test_missing(ranks, rank, program, deadline, 0);
      test_recovery(ranks, rank, program);
    });
  });
}
