#include "generator/cli/option_rules.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tilepost {

std::string arch_list(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ',');
  std::string list;
  for (const llvm::StringRef word : words) {
    const bool digits = !word.empty() && word[0] >= '0' && word[0] <= '9';
    list += (list.empty() ? "" : ",") + (digits ? "sm_" + word.str() : word.str());
  }
  return words.size() > 1 ? "[" + list + "]" : list;
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

}  // namespace tilepost
