#include "generator/cli/option_rules.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost {

std::vector<std::string> split_archs(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ',');
  std::vector<std::string> archs;
  for (const llvm::StringRef word : words) {
    const bool digits = !word.empty() && word[0] >= '0' && word[0] <= '9';
    archs.push_back(digits ? "sm_" + word.str() : word.str());
  }
  return archs;
}

std::string arch_list(const std::vector<std::string>& archs) {
  const std::string list = llvm::join(archs, ",");
  return archs.size() > 1 ? "[" + list + "]" : list;
}

std::string mistake_of_cases(const Options& options) {
  constexpr llvm::StringRef kOfShape[] = {"gemm", "gemm.m", "gemm.m.max", "gemm.n", "gemm.k"};
  for (const Sweep& sweep : options.sweeps)
    if (!options.shapes.empty() && llvm::is_contained(kOfShape, sweep.path))
      return fmt::format("--shape and --sweep {} contradict each other; leave one of them out",
                         sweep.path);
  const size_t cases = count_cases(options.specs.size(), options.sweeps, options.shapes);
  if (cases > kMaxCases)
    return fmt::format(
        "--shape and --sweep make {} combinations, at most {} are allowed; name fewer",
        cases == SIZE_MAX ? "too many" : std::to_string(cases), kMaxCases);
  const bool draws = !options.svg.empty() || !options.trace.empty() || !options.measured.empty();
  if (options.verb == Verb::explain && cases > 1 && draws)
    return fmt::format(
        "--svg, --trace and --measured show one plan, and there are {} combinations; name one "
        "shape",
        cases);
  return "";
}

std::string mistake_of_profile(const Options& options) {
  if (options.verb != Verb::profile) return "";
  const std::string& output = options.output_file;
  if (output.empty() || output == "-") return "-o needs a file: measurements are kept beside it";
  if (!options.from.empty() && (options.no_run || options.apart))
    return "--from measures nothing: leave --no-run and --without-peer-access out";
  if (output == options.measurements || output == options.from)
    return fmt::format("-o is '{}', which has measurements; name another file", output);
  return "";
}

std::string mistake_of_records(const Options& options) {
  if (options.verb == Verb::bench && !options.from.empty() &&
      (options.no_run || !options.torch.empty()))
    return "--from measures nothing: leave --no-run and --torch out";
  return "";
}

std::string mistake_of_bench(const Options& options) {
  if (options.rounds < 1 || options.rounds > kMaxRounds)
    return fmt::format("--rounds must be from 1 to {}, got {}", kMaxRounds, options.rounds);
  if (options.mode != "cool" && options.mode != "sustained" && options.mode != "both")
    return fmt::format("--mode is cool, sustained or both, got '{}'", options.mode);
  if (!llvm::is_contained(kExpertLoads, options.load))
    return fmt::format("--load is one of {}, got '{}'", fmt::join(kExpertLoads, ", "),
                       options.load);
  if (options.lent_output && options.registered)
    return "--lent-output and --registered contradict each other";
  return "";
}

std::string mistake_of_catalogue(const Options& options, bool names_folder) {
  if (options.verb != Verb::catalogue) return "";
  if (!names_folder && !options.dry_run)
    return "catalogue writes many files: name a folder with -o";
  if (!options.specs.empty() && !options.patterns.empty())
    return "--pattern is for the usual layers, without specs; leave it out";
  if (options.specs.empty() && options.varies()) return "--shape and --sweep vary a spec: name one";
  return "";
}

}  // namespace tilepost
