// The measuring program of `tilepost profile`. It prints records, one JSON object a line, as the
// bench harness does (runtime/bench/record.h). These are the kinds and their other members:
//
//   machine  the machine that is measured; printed once
//   begin    step, seconds: a step begins, or goes on; its records up to its end belong to it
//   time     kind, and what was measured: see the functions of steps.h
//   note     kernel, text: the kernel was not timed
//   failed   step, text: the step has no measurements
//   end      step
//
// Exit status: 0 if all steps were measured, 1 if one failed, 2 if the command line was wrong.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/record.h"
#include "runtime/harness/watchdog.h"
#include "runtime/profile/communicators.h"
#include "runtime/profile/steps.h"
#include "runtime/profile/team.h"

namespace tilepost::profile {
namespace {

constexpr double kPatience = 60;  // seconds that may pass without a sign of life
constexpr int kGemmsOfStep = 60;  // products of one step, so that a step is short
constexpr const char* kUsage = "usage: measure [--without-peer-access] [--skip STEP]... [--list]\n";

struct Options {
  bool may_reach = true, list = false;
  std::set<std::string> skip;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--without-peer-access") {
      options.may_reach = false;
      setenv("NCCL_P2P_DISABLE", "1", 1);  // NCCL reads it when its first communicator is made
    } else if (flag == "--list") {
      options.list = true;
    } else if (flag == "--skip" && i + 1 < argc) {
      options.skip.insert(argv[++i]);
    } else {
      std::fprintf(stderr, "measure: error: cannot use '%s'\n%s", argv[i], kUsage);
      return false;
    }
  }
  return true;
}

class Measurement {
 public:
  explicit Measurement(const Options& options)
      : machine_(bench::read_machine()),
        nvml_(machine_.bus_id),
        context_{machine_, nvml_, work(), options.may_reach, [this] { alive(); }},
        skip_(options.skip) {}

  int run(bool list) {
    const std::vector<Step> steps = steps_for(context_);
    if (list) {
      for (const Step& step : steps) std::printf("%s\n", step.name.c_str());
      return 0;
    }
    bench::print_machine(machine_, nvml_);
    int failed = 0;
    for (const Step& step : steps)
      if (!skip_.contains(step.name)) failed += !measure(step);
    return failed == 0 ? 0 : 1;
  }

 private:
  bool measure(const Step& step) {
    step_ = &step;
    begin();
    watchdog_.arm(kPatience, "{\"record\": \"failed\", \"step\": " + bench::quoted(step.name) +
                                 ", \"text\": \"no progress for 60 s\"}");
    bool ok = false;
    try {
      step.measure();
      ok = true;
    } catch (const std::exception& error) {
      bench::Record("failed").set("step", step.name).set("text", error.what());
      cudaGetLastError();
    }
    watchdog_.disarm();
    if (ok) bench::Record("end").set("step", step.name);
    return ok;
  }

  void begin() {
    last_sign_ = std::chrono::steady_clock::now();
    bench::Record("begin").set("step", step_->name).set("seconds", step_->seconds);
  }
  void alive() {
    watchdog_.alive();
    if (std::chrono::steady_clock::now() - last_sign_ > std::chrono::seconds(5)) begin();
  }

  const bench::Machine machine_;
  const bench::Nvml nvml_;
  const Context context_;
  const std::set<std::string> skip_;
  harness::Watchdog watchdog_;
  const Step* step_ = nullptr;
  std::chrono::steady_clock::time_point last_sign_;
};

// The teams that are measured: all GPUs, and two of them.
std::vector<int> team_sizes(int gpus) {
  if (gpus < 2) return {};
  return gpus > 2 ? std::vector<int>{gpus, 2} : std::vector<int>{2};
}

int run(const Options& options) try {
  return Measurement(options).run(options.list);
} catch (const std::exception& error) {
  bench::Record("failed").set("step", "").set("text", error.what());
  return 1;
}

}  // namespace

std::vector<Step> steps_for(const Context& context) {
  std::vector<Step> steps;
  const auto add = [&](const std::string& name, double seconds, std::function<void()> measure) {
    steps.push_back({name, seconds, std::move(measure)});
  };
  const auto on = [](const std::string& what, int ranks) {
    return what + " on " + std::to_string(ranks) + " GPUs";
  };
  add("chip", 2, [&] { measure_chip(context); });
  add("waits", 1, [&] { measure_waits(context); });
  for (int first = 0; first < context.work.num_cool; first += kGemmsOfStep) {
    const int last = std::min(first + kGemmsOfStep, context.work.num_cool);
    add("GEMMs " + std::to_string(first), 4,
        [&, first, last] { measure_cool(context, first, last); });
  }
  add("GEMMs under load", 4, [&] { measure_sustained(context); });
  add("host copies on 1 GPU", 2, [&] { measure_host_copies(context, 1); });
  const int gpus = context.machine.gpus;
  if (gpus > 1) {
    for (const int ranks : team_sizes(gpus))
      add(on("host copies", ranks), 2, [&, ranks] { measure_host_copies(context, ranks); });
    add("host paths", 2, [&] { measure_host_paths(context); });
    add("pairs", 2, [&] { measure_pairs(context); });
  }
  for (const int ranks : team_sizes(gpus)) {
    for (const char* name : kCollectives) {
      const std::string collective = name;
      add(on(collective, ranks), 5,
          [&, collective, ranks] { measure_collective(context, collective, ranks); });
      add(on(collective + " beside GEMMs", ranks), 4,
          [&, collective, ranks] { measure_beside(context, collective, ranks); });
      if (collective != "all_gather" && context.may_reach)
        add(on(collective + " in windows", ranks), 2,
            [&, collective, ranks] { measure_symmetric(context, collective, ranks); });
    }
    std::vector<int> team(static_cast<size_t>(ranks));
    for (int i = 0; i < ranks; ++i) team[static_cast<size_t>(i)] = i;
    if (!context.may_reach || !reach_each_other(team)) continue;
    add(on("copies", ranks), 2, [&, ranks] { measure_copies(context, ranks); });
    add(on("stores", ranks), 1, [&, ranks] { measure_stores(context, ranks); });
    add(on("copies beside GEMMs", ranks), 1, [&, ranks] { measure_copies_beside(context, ranks); });
  }
  if (gpus > 1) add("turns", 2, [&] { measure_relief(context); });
  return steps;
}

}  // namespace tilepost::profile

int main(int argc, char** argv) {
  tilepost::profile::Options options;
  if (!tilepost::profile::parse(argc, argv, options)) return 2;
  return tilepost::profile::run(options);
}
