#include "generator/harness/sweep.h"

#include "generator/printable.h"
#include "llvm/ADT/STLExtras.h"

namespace tilepost {
namespace {

// Fields that every line of the report states.
bool is_shown(llvm::StringRef path) {
  constexpr llvm::StringRef kShown[] = {"ranks",  "gemm.m", "gemm.n",         "gemm.k",
                                        "gemm.a", "gemm.b", "schedule.layout"};
  return llvm::is_contained(kShown, path);
}

void append(std::string& text, const Sweep& sweep, const std::string& value) {
  text += (text.empty() ? "" : ", ") + printable(sweep.path + "=" + value);
}

}  // namespace

std::vector<Case> expand(const std::vector<Input>& inputs, const std::vector<Sweep>& sweeps) {
  std::vector<Case> cases;
  for (const Input& input : inputs) cases.push_back({input, "", ""});
  for (const Sweep& sweep : sweeps) {
    std::vector<Case> next;
    next.reserve(cases.size() * sweep.values.size());
    for (const Case& before : cases)
      for (const std::string& value : sweep.values) {
        Case after = before;
        after.input.overrides.push_back({sweep.path, value});
        append(after.varied, sweep, value);
        if (!is_shown(sweep.path)) append(after.hidden, sweep, value);
        next.push_back(std::move(after));
      }
    cases = std::move(next);
  }
  return cases;
}

}  // namespace tilepost
