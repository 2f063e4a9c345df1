// The verify harness. It checks every program that it was built with, and prints one line for each
// check. A line starts with "ok    ", "FAIL  " or "skip  ". Lines that start with "# " show
// progress, and at the end the counts. Exit status: 0 all checks passed, 1 a check failed, 2 wrong
// command line, 77 no check failed, but some program could not be run here.
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/harness/watchdog.h"
#include "runtime/map/layer_programs.h"
#include "runtime/map/patterns.h"
#include "runtime/verify/audit/audit.h"
#include "runtime/verify/check_program.h"

namespace tilepost::verify {
namespace {

constexpr int kSkipped = 77;

class Harness {
 public:
  explicit Harness(const HarnessOptions& options) : options_(options) {}

  int checks() const { return checks_; }
  int failed() const { return failed_; }
  int skipped() const { return skipped_; }

  // Checks a program, or the two halves of a layer one after the other.
  void check_entry(const Entry& entry, int index) {
    const tilepost_program_t& program = *entry.program();
    if (!is_layer(program)) return check_operation(entry, program, index);
    const LayerPrograms halves(program);
    check_operation(entry, halves.first(), index);
    check_operation(entry, halves.second(), index);
  }

 private:
  void check_operation(const Entry& entry, const tilepost_program_t& program, int index) {
    std::string label = entry.name;
    bool ok = true;
    try {
      const tilepost_plan_t& first = program.plans[0];
      if (entry.plain != nullptr && obstacle(program, 1).empty())
        ok = audit(entry, program, index, label);
      const int ranks = row_of(first).communicates() ? first.ranks : ranks_available(first.ranks);
      if (const std::string why = obstacle(program, ranks); ok && !why.empty()) {
        print("skip", label, why);
        ++skipped_;
      } else if (ok) {
        World& world = world_of(ranks);
        const tilepost_plan_t& plan = arm(entry, program, world, label);
        std::optional<harness::PlainLaunch> own;
        if (entry.plain != nullptr) own = entry.plain();
        ok = take_all(check_program(program, plan, world, options_, mix(options_.seed + index),
                                    own ? &*own : nullptr, [&](int runs) { alive(entry, runs); }),
                      label);
      }
    } catch (const std::exception& error) {
      take(false, label, error.what());
      ok = false;
    }
    watchdog_.disarm();
    // A failure may have aborted the communicators.
    if (!ok) worlds_.clear();
  }

  // Arms the watchdog for the entry, and returns the plan that runs here. Sets `label` to the label
  // of the entry's lines.
  const tilepost_plan_t& arm(const Entry& entry, const tilepost_program_t& program, World& world,
                             std::string& label) {
    const tilepost_plan_t& plan = world.plan_of(program);
    label = program_label(entry, plan);
    const double seconds = 4 * deadline_of(plan, world, options_);
    watchdog_.arm(seconds, "FAIL  " + label + "  no progress for " +
                               std::to_string(static_cast<long>(seconds)) +
                               " s: the run hangs and its own deadline did not end it");
    return plan;
  }

  // Audits the kernel alone, which needs no other rank.
  bool audit(const Entry& entry, const tilepost_program_t& program, int index, std::string& label) {
    World& world = world_of(1);
    const tilepost_plan_t& plan = arm(entry, program, world, label);
    return take_all(audit_kernel(entry.plain(), plan, world, mix(options_.seed + index),
                                 [&](int done) { alive(entry, done); }),
                    label);
  }

  bool take_all(const std::vector<CheckResult>& results, const std::string& label) {
    bool ok = true;
    for (const CheckResult& result : results) {
      take(result.ok, label, result.text);
      ok = ok && result.ok;
    }
    return ok;
  }

  World& world_of(int ranks) {
    std::unique_ptr<World>& world = worlds_[ranks];
    if (!world) world = open_world(ranks);
    return *world;
  }

  // Restarts the watchdog's time. Also prints progress, so that a reader of the lines sees that
  // work goes on.
  void alive(const Entry& entry, int runs) {
    watchdog_.alive();
    const auto now = std::chrono::steady_clock::now();
    if (now - last_sign_ < std::chrono::seconds(5)) return;
    last_sign_ = now;
    std::printf("# %s: run %d\n", entry.name, runs);
    std::fflush(stdout);
  }

  void take(bool ok, const std::string& label, const std::string& text) {
    print(ok ? "ok" : "FAIL", label, text);
    ++checks_;
    failed_ += !ok;
  }

  static void print(const char* word, const std::string& label, const std::string& text) {
    std::printf("%-6s%s  %s\n", word, label.c_str(), text.c_str());
    std::fflush(stdout);
  }

  const HarnessOptions options_;
  std::map<int, std::unique_ptr<World>> worlds_;
  harness::Watchdog watchdog_;
  int checks_ = 0, failed_ = 0, skipped_ = 0;
  std::chrono::steady_clock::time_point last_sign_ = std::chrono::steady_clock::now();
};

int run(const HarnessOptions& options) {
  const Registry programs = registry();
  Harness harness(options);
  int programs_seen = 0;
  for (int i = 0; i < programs.count; ++i) {
    if (!options.only.empty() && options.only != programs.entries[i].name) continue;
    ++programs_seen;
    harness.check_entry(programs.entries[i], i);
  }
  if (programs_seen == 0) {
    std::fprintf(stderr, "harness: error: no program is called '%s'\n", options.only.c_str());
    return 2;
  }
  std::printf("# %d checks, %d failed, %d of %d programs skipped\n", harness.checks(),
              harness.failed(), harness.skipped(), programs_seen);
  return harness.failed() > 0 ? 1 : harness.skipped() > 0 ? kSkipped : 0;
}

}  // namespace
}  // namespace tilepost::verify

int main(int argc, char** argv) {
  tilepost::verify::HarnessOptions options;
  if (!tilepost::verify::parse_harness_options(argc, argv, options)) return 2;
  return tilepost::verify::run(options);
}
