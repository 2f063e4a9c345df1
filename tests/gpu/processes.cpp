// A process per rank, as MPI and torchrun have it: results, and what is left when one dies.
//
//   processes [program …] [--runs 40] [--deadline 5] [--faults 1]
//
// Starts itself once per rank. First every rank runs with new operands each time, eager and
// captured, and checks; then, unless --faults 0, the last rank's process ends without a word, and
// the others have to end with an error within the deadline.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "tests/gpu/checker.h"

extern char** environ;

using namespace gpu_test;

namespace {

constexpr double kSlack = 20;  // seconds past the deadline: reading counters, aborting, freeing
constexpr const char* kRankOption = "--rank";

std::string to_hex(const tilepost_unique_id_t& id) {
  std::string text;
  for (const char byte : id.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

tilepost_unique_id_t from_hex(const std::string& text) {
  tilepost_unique_id_t id{};
  for (size_t i = 0; i < sizeof id.bytes; ++i)
    id.bytes[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

const tilepost_program_t* find_program(const std::string& name) {
  for (int i = 0; i < kNumPrograms; ++i)
    if (name == kPrograms[i]->name) return kPrograms[i];
  return nullptr;
}

// A captured run, replayed with an eager one after each.
void replay(tilepost::Op& op, Checker& checker, int replays) {
  CapturedRun captured(checker, op);
  for (int i = 0; i < replays; ++i) {
    const auto seed = static_cast<uint32_t>(5000 + 2 * i);
    checker.fill_set(0, seed);
    checker.fill_set(1, seed + 1);
    captured.replay();
    TILEPOST_OK_(checker.run_set(op, 1));
    checker.check_set(0, seed);
    checker.check_set(1, seed + 1);
  }
  EXPECT(checker.mismatches() == 0, "a replayed graph, or an eager run between replays");
}

void expect_error(tilepost::Op& op, Checker& checker, int rank, double deadline) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const tilepost::Status issued = checker.run_set(op, 0);
  const tilepost::Status ended = issued ? op.synchronize() : issued;
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf("# rank %d after %.2f s: %s: %s\n", rank, elapsed, ended.name(),
              ended.text().c_str());
  EXPECT(!ended, "a run without one of the ranks succeeded");
  EXPECT(elapsed < deadline + kSlack, std::to_string(elapsed) + " s");
}

// One rank, in a process of its own.
int run_rank(const tilepost_program_t& program, int rank, const tilepost_unique_id_t& id, int runs,
             double deadline, bool faults) {
  const int ranks = plan_of(program).ranks;
  CUDA_OK(cudaSetDevice(rank));
  preload();
  tilepost::Comm comm;
  TILEPOST_OK_(tilepost::Comm::init(id, rank, ranks, comm));
  tilepost_options_t options = tilepost_default_options();
  options.deadline_seconds = deadline;
  tilepost::Op op;
  TILEPOST_OK_(tilepost::Op::create(comm, &program, op, options));
  Checker checker(program, op, rank, 2);
  for (int i = 0; i < runs; ++i) {
    if (i % 8 == 4) checker.choose(op, static_cast<uint32_t>(i));
    checker.run_and_check(op, static_cast<uint32_t>(i));
  }
  checker.choose(op, 0);
  replay(op, checker, runs / 4);
  if (ranks == 1 || !faults) return 0;
  std::fflush(nullptr);
  if (rank == ranks - 1) _exit(0);
  expect_error(op, checker, rank, deadline);
  return 0;
}

// Starts all ranks of a program and waits for them; false if one fails.
bool run_all(const char* self, const tilepost_program_t& program, int runs, double deadline,
             bool faults) {
  tilepost_unique_id_t id{};
  TILEPOST_OK_(tilepost::Status(tilepost_get_unique_id(&id)));
  std::vector<pid_t> children;
  for (int rank = 0; rank < plan_of(program).ranks; ++rank) {
    std::vector<std::string> words = {
        self,       kRankOption,          std::to_string(rank),     program.name,
        to_hex(id), std::to_string(runs), std::to_string(deadline), faults ? "1" : "0"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    EXPECT(posix_spawn(&child, self, nullptr, nullptr, arguments.data(), environ) == 0,
           "posix_spawn");
    children.push_back(child);
  }
  bool passed = true;
  for (const pid_t child : children) {
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child, "waitpid");
    passed &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 8 && std::strcmp(argv[1], kRankOption) == 0)
    return run_rank(*find_program(argv[3]), std::atoi(argv[2]), from_hex(argv[4]),
                    std::atoi(argv[5]), std::atof(argv[6]), std::atoi(argv[7]) != 0);
  const Arguments arguments(argc, argv);
  const int runs = static_cast<int>(arguments.number("runs", 40));
  const double deadline = arguments.number("deadline", 5);
  const bool faults = arguments.number("faults", 1) != 0;
  return run_programs(arguments, [&](const tilepost_program_t& program) {
    EXPECT(run_all("/proc/self/exe", program, runs, deadline, faults), program.name);
  });
}
