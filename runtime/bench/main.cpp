// The bench harness. It checks and measures every program that it was built with, and prints
// records (record.h). Exit status: 0 if everything was measured, 1 if a result was wrong or a
// measurement failed, 2 if the command line was wrong.
#include <chrono>
#include <cstdio>

#include "runtime/bench/experts/grouped_bench.h"
#include "runtime/bench/gemm/gemm_bench.h"
#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/ranks/overlap_bench.h"
#include "runtime/bench/ranks/tune_bench.h"
#include "runtime/bench/record.h"
#include "runtime/cuda/op/select.h"
#include "runtime/harness/watchdog.h"
#include "runtime/map/patterns.h"

namespace tilepost::bench {
namespace {

constexpr double kPatience = 60;  // seconds that may pass without a burst

class Harness {
 public:
  explicit Harness(const HarnessOptions& options)
      : options_(options),
        machine_(read_machine()),
        nvml_(machine_.bus_id),
        session_{machine_, nvml_, options_, [this] { alive(); }} {
    TILEPOST_BENCH_CUDA(cudaSetDevice(0));
    print_machine(machine_, nvml_);
  }

  // Returns false if a result was wrong, or if nothing could be measured.
  bool measure(const Entry& entry) {
    bool ok = false;
    program_ = entry.name;
    Record("begin").set("program", entry.name);
    watchdog_.arm(kPatience, hang(entry.name));
    try {
      ok = measure_plan(entry, plan_of(entry));
    } catch (const std::exception& error) {
      Record("failed").set("program", entry.name).set("text", error.what());
      cudaGetLastError();
    }
    watchdog_.disarm();
    Record("end").set("program", entry.name);
    return ok;
  }

  // Measures all programs against each other. Returns false as measure() does.
  bool tune(const Registry& programs) {
    program_ = programs.entries[0].name;
    watchdog_.arm(kPatience, hang(""));
    const bool ok = tune_programs(programs, session_);
    watchdog_.disarm();
    return ok;
  }

 private:
  const tilepost_plan_t& plan_of(const Entry& entry) const {
    const tilepost_plan_t* plan = nullptr;
    check_tilepost(cuda::select_plan(*entry.program(), machine_.device, plan), "select_plan");
    return *plan;
  }

  bool measure_plan(const Entry& entry, const tilepost_plan_t& plan) {
    const bool has_experts = row_of(plan).has_experts(), alone = !row_of(plan).communicates();
    if (has_experts && alone) return bench_grouped(entry, plan, session_);
    if (!has_experts && !bench_gemm(entry, plan, session_)) return false;
    if (plan.ranks == 1 || alone) return true;
    const std::string obstacle = overlap_obstacle(plan, machine_);
    if (obstacle.empty()) return bench_overlap(entry, plan, session_);
    if (has_experts) throw BenchError(obstacle);
    Record("note").set("program", entry.name).set("text", obstacle);
    return true;
  }

  static std::string hang(const char* program) {
    return "{\"record\": \"failed\", \"program\": " + quoted(program) +
           ", \"text\": \"no progress for " + std::to_string(static_cast<int>(kPatience)) +
           " s: a kernel or a collective hangs\"}";
  }

  // Also prints a sign of life, so that a reader of the records knows that the harness is still
  // working.
  void alive() {
    watchdog_.alive();
    const auto now = std::chrono::steady_clock::now();
    if (now - last_sign_ < std::chrono::seconds(5)) return;
    last_sign_ = now;
    Record("begin").set("program", program_);
  }

  const HarnessOptions options_;
  const Machine machine_;
  const Nvml nvml_;
  const Session session_;
  harness::Watchdog watchdog_;
  const char* program_ = "";
  std::chrono::steady_clock::time_point last_sign_ = std::chrono::steady_clock::now();
};

int run(const HarnessOptions& options) try {
  const Registry programs = registry();
  Harness harness(options);
  if (options.tune) return harness.tune(programs) ? 0 : 1;
  int measured = 0, failed = 0;
  for (int i = 0; i < programs.count; ++i) {
    if (!options.only.empty() && options.only != programs.entries[i].name) continue;
    ++measured;
    failed += !harness.measure(programs.entries[i]);
  }
  if (measured == 0) {
    std::fprintf(stderr, "harness: error: no program is called '%s'\n", options.only.c_str());
    return 2;
  }
  return failed == 0 ? 0 : 1;
} catch (const std::exception& error) {
  Record("failed").set("program", "").set("text", error.what());
  return 1;
}

}  // namespace
}  // namespace tilepost::bench

int main(int argc, char** argv) {
  tilepost::bench::HarnessOptions options;
  if (!tilepost::bench::parse_harness_options(argc, argv, options)) return 2;
  return tilepost::bench::run(options);
}
