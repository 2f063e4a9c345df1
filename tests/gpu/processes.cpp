// A process for each rank, as with MPI and torchrun: the results, and what is left when a process
// dies.
//
//   processes [program …] [--runs 40] [--deadline 5] [--faults 1] [--devices all] [--hosts 1]
//             [--rows same]
//
// The driver starts itself once for each rank. First every rank makes runs, each with new operands,
// eager and captured, and checks them. Half of the runs have a registered output, and later runs
// have two registered outputs in one allocation. Then, unless --faults is 0, the last rank's
// process ends without a word, and the others must end with an error within the deadline.
//
// --devices one: each process sees only its own GPU. mixed: every other process sees the GPUs in
// reverse order (CUDA_VISIBLE_DEVICES, which must not be set outside). same: all processes use the
// first GPU (needs a build with TILEPOST_TEST_ONE_GPU).
// --hosts N: NCCL takes the ranks for those of N hosts (NCCL_HOSTID), whose sockets are on the
// loopback. Programs for peer and copy_engine must then be refused on all ranks, and the error must
// name both hosts.
// --rows differ: no rank dies, but the last one runs with other rows. Programs for any m must end
// with an error on all ranks of one host, with both numbers. Other programs are left out.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tests/gpu/checker.h"

extern char** environ;

using namespace gpu_test;

namespace {

constexpr double kSlack = 20;  // seconds past the deadline: to read counters, abort and free
constexpr const char* kRankOption = "--rank";

// How processes are started, and what they do.
struct Setting {
  std::string devices;  // "all", "one", "mixed", "same"
  int device = 0;       // of a rank's process, in the numbering that the process sees
  int hosts = 1;
  int runs = 40;
  double deadline = 5;
  std::string end;  // the last part: "fault", "rows", "none"
};

bool shares_memory(const tilepost_program_t& program) {
  return plan_of(program).access != TILEPOST_ACCESS_MESSAGES;
}

// `device`: the number that GPU `rank` has in the rank's process. `list`: the GPUs that the process
// sees, in order, or "" for all.
struct Visible {
  int device;
  std::string list;
};
Visible visible_to(int rank, const std::string& devices) {
  if (devices == "one") return {0, std::to_string(rank)};
  if (devices == "same") return {0, ""};
  if (devices != "mixed" || rank % 2 == 0) return {rank, ""};
  const int last = num_gpus() - 1;
  std::string list;
  for (int gpu = last; gpu >= 0; --gpu) list += std::to_string(gpu) + (gpu > 0 ? "," : "");
  return {last - rank, list};
}

// Replays a captured run, with an eager run after each replay. Between them the output of the eager
// runs is registered.
void replay(tilepost::Op& op, Checker& checker, int replays) {
  CapturedRun captured(checker, op);
  for (int i = 0; i < replays; ++i) {
    if (i == replays / 2) checker.register_out(op, 1);
    const auto seed = static_cast<uint32_t>(5000 + 2 * i);
    const int set = 1 + i % 2;
    checker.fill_set(0, seed);
    checker.fill_set(set, seed + 1);
    captured.replay();
    TILEPOST_OK_(checker.run_set(op, set));
    checker.check_set(0, seed);
    checker.check_set(set, seed + 1);
  }
  EXPECT(checker.mismatches() == 0, "a replayed graph, or an eager run between replays");
  checker.unregister_out(op, 1);
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

// Checks that ranks of several hosts get the reason why they cannot share memory.
int expect_refusal(const tilepost::Status& made, int rank, int ranks, int hosts) {
  std::printf("# rank %d: %s: %s\n", rank, made.name(), made.text().c_str());
  EXPECT(made.result() == TILEPOST_UNSUPPORTED, made.text());
  for (const int of : {0, ranks - 1})
    EXPECT(made.text().find(host_of(of, ranks, hosts)) != std::string::npos, made.text());
  return 0;
}

// The last rank runs with other rows than the other ranks.
void expect_difference(tilepost::Op& op, Checker& checker, int rank, const tilepost_plan_t& plan) {
  const int64_t m = plan.map.m, other = m - m / 8;
  const tilepost::Status issued = checker.run_set(op, 0, rank == plan.ranks - 1 ? other : m);
  const tilepost::Status ended = issued ? op.synchronize() : issued;
  std::printf("# rank %d: %s: %s\n", rank, ended.name(), ended.text().c_str());
  EXPECT(!ended, "runs with different rows succeeded");
  EXPECT(ended.text().find("pass the same m on every rank") != std::string::npos, ended.text());
}

// Executes one rank in a process of its own.
int run_rank(const tilepost_program_t& program, int rank, const tilepost_unique_id_t& id,
             const Setting& setting) {
  const int ranks = plan_of(program).ranks;
  CUDA_OK(cudaSetDevice(setting.device));
  preload();
  tilepost::Comm comm;
  TILEPOST_OK_(tilepost::Comm::init(id, rank, ranks, comm));
  tilepost_options_t options = tilepost_default_options();
  options.deadline_seconds = setting.deadline;
  tilepost::Op op;
  const tilepost::Status made = tilepost::Op::create(comm, &program, op, options);
  if (setting.hosts > 1 && shares_memory(program))
    return expect_refusal(made, rank, ranks, setting.hosts);
  TILEPOST_OK_(made);
  if (rank == 0 && *op.warnings() != '\0') std::printf("# %s: %s", program.name, op.warnings());
  Checker checker(program, op, rank, 3);
  checker.join_outs();
  for (int i = 0; i < setting.runs; ++i) {
    if (i == setting.runs / 2) checker.register_out(op, 0);
    if (i % 8 == 4) checker.choose(op, static_cast<uint32_t>(i));
    checker.run_and_check(op, static_cast<uint32_t>(i));
  }
  checker.choose(op, 0);
  replay(op, checker, std::max(setting.runs / 4, 1));
  checker.unregister_out(op, 0);
  checker.run_and_check(op, static_cast<uint32_t>(setting.runs));
  std::fflush(nullptr);
  if (setting.end == "rows") expect_difference(op, checker, rank, plan_of(program));
  if (ranks == 1 || setting.end != "fault") return 0;
  if (rank == ranks - 1) _exit(0);
  expect_error(op, checker, rank, setting.deadline);
  return 0;
}

// This process's environment with `changes`.
std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> all = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "=") + 1);
    bool changed = false;
    for (const std::string& change : changes) changed |= change.rfind(name, 0) == 0;
    if (!changed) all.emplace_back(*entry);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> changes_for(int rank, int ranks, const Setting& setting,
                                     const Visible& visible) {
  std::vector<std::string> changes;
  if (!visible.list.empty()) changes.push_back("CUDA_VISIBLE_DEVICES=" + visible.list);
  const int hosts = setting.devices == "same" ? ranks : setting.hosts;
  if (hosts > 1) changes.push_back("NCCL_HOSTID=" + host_of(rank, ranks, hosts));
  return changes;
}

// Starts all ranks of a program and waits for them. Returns false if a rank fails.
bool run_all(const char* self, const tilepost_program_t& program, const Setting& setting) {
  tilepost_unique_id_t id{};
  TILEPOST_OK_(tilepost::Status(tilepost_get_unique_id(&id)));
  const int ranks = plan_of(program).ranks;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const Visible visible = visible_to(rank, setting.devices);
    std::vector<std::string> words = {self,
                                      kRankOption,
                                      std::to_string(rank),
                                      program.name,
                                      to_hex(id),
                                      std::to_string(visible.device),
                                      std::to_string(setting.hosts),
                                      std::to_string(setting.runs),
                                      std::to_string(setting.deadline),
                                      setting.end};
    std::vector<std::string> environment =
        environment_with(changes_for(rank, ranks, setting, visible));
    pid_t child = 0;
    EXPECT(posix_spawn(&child, self, nullptr, nullptr, pointers_to(words).data(),
                       pointers_to(environment).data()) == 0,
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

int run_child(char** argv) {
  Setting setting;
  setting.device = std::atoi(argv[5]);
  setting.hosts = std::atoi(argv[6]);
  setting.runs = std::atoi(argv[7]);
  setting.deadline = std::atof(argv[8]);
  setting.end = argv[9];
  return run_rank(*find_program(argv[3]), std::atoi(argv[2]), from_hex(argv[4]), setting);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 10 && std::strcmp(argv[1], kRankOption) == 0) return run_child(argv);
  const Arguments arguments(argc, argv);
  Setting setting;
  setting.runs = static_cast<int>(arguments.number("runs", 40));
  setting.deadline = arguments.number("deadline", 5);
  setting.hosts = static_cast<int>(arguments.number("hosts", 1));
  setting.devices = arguments.text("devices", "all");
  setting.end = arguments.number("faults", 1) != 0 ? "fault" : "none";
  if (arguments.text("rows", "same") == "differ") setting.end = "rows";
  if (setting.hosts > 1 || arguments.on_one_gpu()) use_loopback();
  return run_programs(arguments, [&](const tilepost_program_t& program) {
    const tilepost_plan_t& plan = plan_of(program);
    const bool comparable = setting.hosts == 1 && plan.any_m != 0 && !is_routed(plan);
    if (setting.end == "rows" && !comparable) return;
    EXPECT(run_all("/proc/self/exe", program, setting), program.name);
  });
}
