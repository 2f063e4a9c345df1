// Many runs of many operations. Every result is compared exactly.
//
//   soak mixed|graph|sweep|cycles [pattern …] [--runs N] [--seconds N] [--seed 1] [--processes 0]
//        [--deadline 20] [--operations 16] [--shared 0.3] [--streams free] [--delay US]
//        [--part i/n] [--patience 180] [--tsv FILE] [--resume FILE]
//
//   mixed    rounds of up to 12 runs of several operations of one communicator. The seed draws each
//            run's program, rows, route and stream (of three), whether it is eager or replayed, and
//            whether memory is shared. It ends after --runs runs or when time is up. With --streams
//            ordered every run comes behind all others. With --delay every rank waits before half
//            of its runs, each time another number of microseconds up to US.
//   graph    one graph of each program, replayed --runs times (1000)
//   sweep    runs of each program with each of the numbers of rows in --m
//            (1,3,16,17,64,65,300,1023,2048) that it serves, eager and replayed
//   cycles   --runs operations of each program (1000), made, run once and destroyed. Every 20 of
//            them are on a communicator of their own. Then device and host memory must be as
//            before.
//
// Ranks are threads of one process, or processes with --processes 1. With processes, --devices same
// puts all of them on the first GPU (needs a build with TILEPOST_TEST_ONE_GPU). Programs for
// another number of ranks than the first program's are left out with a note. An error names the
// seed, the round and the runs of the round, and ends the driver.
#include "tests/gpu/trust/soak_rank.h"

#include <malloc.h>

#include <memory>
#include <sstream>

using namespace gpu_test;

namespace {

constexpr const char* kRankOption = "--rank";

// Makes the options. One command line makes the same options in every process.
SoakOptions options_of(const std::string& mode, const Arguments& arguments) {
  SoakOptions options{};
  options.mode = mode;
  options.runs = static_cast<int64_t>(arguments.number("runs", mode == "mixed" ? 1e12 : 1000));
  options.seconds = arguments.number("seconds", mode == "mixed" ? 60 : 1e9);
  options.deadline = arguments.number("deadline", 20);
  options.delay_us = static_cast<uint32_t>(arguments.number("delay", 0));
  options.seed = static_cast<uint32_t>(arguments.number("seed", 1));
  options.most_operations = static_cast<int>(arguments.number("operations", 16));
  options.shared = arguments.number("shared", 0.3);
  options.ordered = arguments.text("streams", "free") == "ordered";
  options.threads = arguments.number("processes", 0) == 0;
  options.on_one_gpu = arguments.on_one_gpu();
  std::istringstream rows(arguments.text("m", "1,3,16,17,64,65,300,1023,2048"));
  for (std::string m; std::getline(rows, m, ',');) options.rows.push_back(std::stoll(m));
  for (const tilepost_program_t* program : arguments.programs())
    if (options.programs.empty() || plan_of(*program).ranks == plan_of(*options.programs[0]).ranks)
      options.programs.push_back(program);
    else
      std::printf("SKIP %s: for another number of ranks\n", program->name);
  return options;
}

void run_threads(const SoakOptions& options, Report& report, double patience) {
  Ranks ranks(plan_of(*options.programs[0]).ranks);
  ThreadMeeting meeting(ranks, report, patience);
  ranks.run([&](int rank) { soak(options, rank, meeting); });
}

void run_processes(const SoakOptions& options, int argc, char** argv, Report& report,
                   double patience) {
  if (options.on_one_gpu) use_loopback();
  Children ranks;
  const int count = plan_of(*options.programs[0]).ranks;
  for (int rank = 0; rank < count; ++rank) {
    std::vector<std::string> words(argv + 1, argv + argc);
    words.insert(words.begin(), {kRankOption, std::to_string(rank)});
    if (options.on_one_gpu) setenv("NCCL_HOSTID", host_of(rank, count, count).c_str(), 1);
    ranks.push_back(std::make_unique<Child>(words));
  }
  if (const std::string wrong = host_meeting(ranks, report, patience); !wrong.empty())
    report.row(options.mode, "FAIL", {"", "", std::to_string(options.seed), "", "", wrong});
}

int run_rank(int rank, const std::string& mode, const Arguments& arguments) {
  Orders orders;
  ProcessMeeting meeting(orders);
  CUDA_OK(cudaSetDevice(arguments.on_one_gpu() ? 0 : rank));
  preload();
  soak(options_of(mode, arguments), rank, meeting);
  orders.answer("done");
  return 0;
}

// glibc keeps up to 64 MiB of freed memory for each thread that ever made allocations (mallopt(3),
// M_MMAP_THRESHOLD, M_TRIM_THRESHOLD), and NCCL makes threads with every communicator. Fixed
// thresholds return freed memory to the system, so that resident memory is memory in use.
void hand_back_freed_memory() {
  constexpr int kThreshold = 128 << 10;  // bytes: the first values of both thresholds
  mallopt(M_MMAP_THRESHOLD, kThreshold);
  mallopt(M_TRIM_THRESHOLD, kThreshold);
}

}  // namespace

int main(int argc, char** argv) {
  int own_rank = -1;
  if (argc > 2 && std::strcmp(argv[1], kRankOption) == 0) {
    own_rank = std::atoi(argv[2]);
    argc -= 2;
    argv += 2;
  }
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "mixed" && mode != "graph" && mode != "sweep" && mode != "cycles") {
    std::printf("soak mixed|graph|sweep|cycles [pattern …] [--name value …]\n");
    return 1;
  }
  if (mode == "cycles") hand_back_freed_memory();
  const Arguments arguments(argc - 1, argv + 1);
  if (own_rank >= 0) return run_rank(own_rank, mode, arguments);
  if (!names_are_known(arguments)) return 1;
  const SoakOptions options = options_of(mode, arguments);
  Report report(arguments, "soak", {"runs", "replays", "seed", "device MiB", "host MiB", "text"});
  const double patience = arguments.number("patience", 180);
  std::printf("# soak %s: seed %u, %zu programs, ranks as %s\n", mode.c_str(), options.seed,
              options.programs.size(), options.threads ? "threads" : "processes");
  std::fflush(stdout);
  if (!options.programs.empty()) {
    if (options.threads)
      run_threads(options, report, patience);
    else
      run_processes(options, argc, argv, report, patience);
  }
  return report.finish();
}
