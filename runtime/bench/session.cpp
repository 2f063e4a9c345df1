#include "runtime/bench/session.h"

#include <cstdio>
#include <cstdlib>

namespace tilepost::bench {
namespace {

constexpr const char* kUsage =
    "usage: harness [--seed N] [--rounds N] [--mode cool|sustained|both] [--lent-output] "
    "[--registered] [--load random|even|one_expert|one_rank] [--only NAME] "
    "[--tune [--graph] [--seconds N]]\n";
constexpr long kMaxRounds = 100000;
constexpr double kMaxSeconds = 1e6;

bool apply_mode(const std::string& mode, HarnessOptions& options) {
  options.cool = mode != "sustained";
  options.sustained = mode != "cool";
  return mode == "cool" || mode == "sustained" || mode == "both";
}

bool apply(const std::string& flag, const char* text, HarnessOptions& options) {
  char* end = nullptr;
  if (flag == "--mode") return apply_mode(text, options);
  if (flag == "--load") return find_load(text, options.load);
  if (flag == "--only") {
    options.only = text;
    return true;
  }
  if (flag == "--seed") {
    options.seed = std::strtoull(text, &end, 10);
    return end != text && *end == '\0';
  }
  if (flag == "--seconds") {
    options.seconds = std::strtod(text, &end);
    return end != text && *end == '\0' && options.seconds > 0 && options.seconds < kMaxSeconds;
  }
  if (flag != "--rounds") return false;
  const long rounds = std::strtol(text, &end, 10);
  options.rounds = static_cast<int>(rounds);
  return end != text && *end == '\0' && rounds >= 1 && rounds <= kMaxRounds;
}

// Flags that stand alone.
bool apply_alone(const std::string& flag, HarnessOptions& options) {
  if (flag == "--lent-output") return options.lent_output = true;
  if (flag == "--registered") return options.registered = true;
  if (flag == "--tune") return options.tune = true;
  if (flag == "--graph") return options.graph = true;
  return false;
}

}  // namespace

bool parse_harness_options(int argc, char** argv, HarnessOptions& options) {
  for (int i = 1; i < argc; ++i) {
    if (apply_alone(argv[i], options)) continue;
    if (i + 1 < argc && apply(argv[i], argv[i + 1], options)) {
      ++i;
      continue;
    }
    std::fprintf(stderr, "harness: error: cannot use '%s%s%s'\n%s", argv[i],
                 i + 1 < argc ? " " : "", i + 1 < argc ? argv[i + 1] : "", kUsage);
    return false;
  }
  return true;
}

}  // namespace tilepost::bench
