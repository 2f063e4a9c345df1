#include "runtime/verify/options.h"

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace tilepost::verify {
namespace {

constexpr const char* kUsage =
    "usage: harness [--seed N] [--runs N] [--m N,N,…] [--deadline SECONDS] [--only NAME]\n";

// Reads a whole number or decimal that fills `text` and lies in [low, high].
bool read_number(const char* text, double low, double high, double& value) {
  char* end = nullptr;
  value = std::strtod(text, &end);
  return end != text && *end == '\0' && value >= low && value <= high;
}

// Reads a list such as "1,7,64".
bool read_rows(const char* text, std::vector<int64_t>& rows) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  rows.clear();
  for (const char* at = text;; ++at) {
    char* end = nullptr;
    rows.push_back(std::strtoll(at, &end, 10));
    if (end == at || rows.back() < 1 || rows.back() > kMost) return false;
    at = end;
    if (*at == '\0') return true;
    if (*at != ',') return false;
  }
}

bool apply(const std::string& flag, const char* text, HarnessOptions& options) {
  double number = 0;
  if (flag == "--only") {
    options.only = text;
    return true;
  }
  if (flag == "--seed") {
    char* end = nullptr;
    options.seed = std::strtoull(text, &end, 10);
    return end != text && *end == '\0';
  }
  if (flag == "--runs" && read_number(text, 1, 1e6, number)) {
    options.runs = static_cast<int>(number);
    return true;
  }
  if (flag == "--m") return read_rows(text, options.m);
  return flag == "--deadline" && read_number(text, 0.1, 86400, options.deadline);
}

}  // namespace

bool parse_harness_options(int argc, char** argv, HarnessOptions& options) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 < argc && apply(argv[i], argv[i + 1], options)) continue;
    std::fprintf(stderr, "harness: error: cannot use '%s%s%s'\n%s", argv[i],
                 i + 1 < argc ? " " : "", i + 1 < argc ? argv[i + 1] : "", kUsage);
    return false;
  }
  return true;
}

}  // namespace tilepost::verify
