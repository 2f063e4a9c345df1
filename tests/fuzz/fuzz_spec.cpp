// Tries the generator with many inputs, with any compiler.
//
// usage: fuzz_spec MODE --seeds FOLDER… [--runs N] [--seed S] [--seconds T] [--first I]
//                  [--findings DIR]
//        fuzz_spec MODE FILE…        executes inputs that were kept
//        fuzz_spec --dictionary      prints libFuzzer's dictionary
//
// MODE is parse, plan, explain or emit. Inputs are made of every *.yaml in the FOLDERs, and without
// the invalid ones unless MODE is parse. It ends after N executions (100 000) or T seconds (no
// limit). A process of its own executes inputs. So a crash, or an execution that keeps the
// processor for a minute, ends only that process: the input goes to DIR/finding-MODE-S-I with the
// reason, and the next one is tried. The exit code is 1 if there was a finding, and 2 for wrong
// usage.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

namespace tilepost::fuzz {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kMaxFindings = 10;
// The most that one execution may take: processor time, and elapsed time where it only waits. Where
// other processes keep the processor busy, an execution of milliseconds may wait for minutes.
constexpr double kMaxBusySeconds = 60, kMaxSeconds = 600;

struct Options {
  Mode mode = Mode::parse;
  std::string mode_name;
  std::vector<std::string> seeds;  // folders
  std::string findings = ".";
  uint64_t first = 0, runs = 100000, seed = 1;
  double seconds = 0;  // 0: no limit
  std::vector<std::string> files;
};

// What the executing process reports to the one that watches it.
struct Progress {
  std::atomic<uint64_t> number;       // the number of the input being executed
  std::atomic<uint64_t> outcomes[3];  // how many executions had each Outcome
  char reason[512];                   // why the process ended itself
};

int usage() {
  std::fprintf(stderr,
               "usage: fuzz_spec MODE --seeds FOLDER [--runs N] [--seed S] [--seconds T] "
               "[--first I] [--findings DIR]\n"
               "       fuzz_spec MODE FILE...\n"
               "       fuzz_spec --dictionary\n"
               "MODE: parse, plan, explain, emit\n");
  return 2;
}

bool read_number(const char* text, uint64_t& number) {
  char* end = nullptr;
  number = std::strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0';
}

bool parse_options(int argc, char** argv, Options& options) {
  if (argc < 3) return false;
  const auto mode = find_mode(argv[1]);
  if (!mode) return false;
  options.mode = *mode;
  options.mode_name = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0) {
      options.files.push_back(name);
      continue;
    }
    if (++i == argc) return false;
    uint64_t number = 0;
    if (name == "--seeds")
      options.seeds.emplace_back(argv[i]);
    else if (name == "--findings")
      options.findings = argv[i];
    else if (!read_number(argv[i], number))
      return false;
    else if (name == "--runs")
      options.runs = number;
    else if (name == "--seed")
      options.seed = number;
    else if (name == "--first")
      options.first = number;
    else if (name == "--seconds")
      options.seconds = static_cast<double>(number);
    else
      return false;
  }
  return options.files.empty() != options.seeds.empty();
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_valid(const std::string& text) {
  return execute(Mode::parse, text) == Outcome::accepted;
}

// The seeds in the order of their texts, wherever the files lie, because the numbers of inputs must
// not depend on places.
std::vector<std::string> read_seeds(const Options& options) {
  std::vector<std::string> seeds;
  for (const std::string& folder : options.seeds)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".yaml") continue;
      std::string text = read_file(entry.path());
      if (text.size() < 4096 && (options.mode == Mode::parse || is_valid(text)))
        seeds.push_back(std::move(text));
    }
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

std::string input_of(const Options& options, const std::vector<std::string>& seeds,
                     uint64_t number) {
  return make_input(seeds, options.seed, number, options.mode == Mode::parse);
}

// The executing process: executes inputs from number `first` on. Ends with 0, or with 1 and a
// reason.
[[noreturn]] void execute_all(const Options& options, const std::vector<std::string>& seeds,
                              uint64_t first, Clock::time_point end, Progress& progress) {
  for (uint64_t number = first; number < options.first + options.runs; ++number) {
    progress.number = number;
    if (options.seconds > 0 && Clock::now() >= end) _exit(0);
    try {
      const Outcome outcome = execute(options.mode, input_of(options, seeds, number));
      ++progress.outcomes[static_cast<int>(outcome)];
    } catch (const std::exception& error) {
      std::snprintf(progress.reason, sizeof progress.reason, "%s", error.what());
      _exit(1);
    }
  }
  progress.number = options.first + options.runs;
  _exit(0);
}

// The processor time that a process has used, in seconds.
double busy_seconds(pid_t process) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Waits for the executing process. Returns how it ended, or "" if it has executed all inputs.
std::string wait_for(pid_t process, const Progress& progress) {
  uint64_t number = progress.number;
  Clock::time_point since = Clock::now();
  double busy_before = 0;
  while (true) {
    int status = 0;
    if (waitpid(process, &status, WNOHANG) == process) {
      if (WIFSIGNALED(status)) return std::string("signal ") + std::to_string(WTERMSIG(status));
      if (WEXITSTATUS(status) == 0) return "";
      return progress.reason[0] != '\0' ? progress.reason
                                        : "exit status " + std::to_string(WEXITSTATUS(status));
    }
    if (progress.number != number)
      number = progress.number, since = Clock::now(), busy_before = busy_seconds(process);
    const std::chrono::duration<double> waited = Clock::now() - since;
    const double busy = busy_seconds(process) - busy_before;
    if (busy > kMaxBusySeconds || waited.count() > kMaxSeconds) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return "no end after " + std::to_string(static_cast<int>(busy)) + " s of processor time";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void keep(const Options& options, const std::string& input, uint64_t number,
          const std::string& reason) {
  const std::string name = "finding-" + options.mode_name + "-" + std::to_string(options.seed) +
                           "-" + std::to_string(number);
  const std::filesystem::path path = std::filesystem::path(options.findings) / name;
  std::ofstream(path, std::ios::binary) << input;
  std::printf("finding: %s: %s\n", path.c_str(), reason.c_str());
}

int fuzz(const Options& options) {
  const std::vector<std::string> seeds = read_seeds(options);
  if (seeds.empty()) {
    std::fprintf(stderr, "fuzz_spec: no spec under '%s'\n", options.seeds[0].c_str());
    return 2;
  }
  void* shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  auto& progress = *new (shared) Progress{};
  const Clock::time_point start = Clock::now();
  const auto end = start + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(options.seconds));
  int findings = 0;
  for (uint64_t first = options.first; findings < kMaxFindings;) {
    std::fflush(stdout);
    progress.number = first;
    progress.reason[0] = '\0';
    const pid_t process = fork();
    if (process < 0) throw std::bad_alloc();
    if (process == 0) execute_all(options, seeds, first, end, progress);
    const std::string reason = wait_for(process, progress);
    if (reason.empty()) break;
    keep(options, input_of(options, seeds, progress.number), progress.number, reason);
    ++findings;
    first = progress.number + 1;
  }
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  const auto count = [&](Outcome outcome) {
    return static_cast<unsigned long long>(progress.outcomes[static_cast<int>(outcome)].load());
  };
  const unsigned long long refused = count(Outcome::refused), large = count(Outcome::left_out),
                           accepted = count(Outcome::accepted);
  std::printf(
      "%s: %llu executions in %.1f s, %d findings, seed %llu, %zu seeds: %llu accepted, "
      "%llu refused, %llu too large to plan here\n",
      options.mode_name.c_str(), refused + large + accepted + findings, elapsed.count(), findings,
      static_cast<unsigned long long>(options.seed), seeds.size(), accepted, refused, large);
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilepost::fuzz

int main(int argc, char** argv) {
  using namespace tilepost::fuzz;
  if (argc == 2 && std::string(argv[1]) == "--dictionary") {
    std::printf("%s", dictionary().c_str());
    return 0;
  }
  Options options;
  if (!parse_options(argc, argv, options)) return usage();
  try {
    for (const std::string& file : options.files) execute(options.mode, read_file(file));
    return options.files.empty() ? fuzz(options) : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "finding: %s\n", error.what());
    return 1;
  }
}
