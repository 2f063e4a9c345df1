#include "generator/harness/sweep.h"

#include <fmt/format.h>

#include "generator/printable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost {
namespace {

// Fields that every line of the report states.
bool is_shown(llvm::StringRef path) {
  constexpr llvm::StringRef kShown[] = {"ranks",  "gemm.m", "gemm.n",         "gemm.k",
                                        "gemm.a", "gemm.b", "schedule.layout"};
  return llvm::is_contained(kShown, path);
}

void append(std::string& text, const std::string& more) {
  text += (text.empty() ? "" : ", ") + more;
}

// The letters and digits of a text as the end of a program's name, one underscore before each run
// of them.
std::string suffix_of(llvm::StringRef text) {
  std::string suffix;
  bool inside = false;
  for (const char c : text) {
    if (llvm::isAlnum(c)) suffix += (inside ? "" : "_") + std::string(1, c);
    inside = llvm::isAlnum(c);
  }
  return suffix;
}

Case at_shape(const Input& input, const Shape& shape) {
  Case result{input, shape_text(shape), "", suffix_of(shape_text(shape)), shape};
  result.input.overrides.push_back({"gemm.m", std::to_string(shape.m)});
  result.input.overrides.push_back({"gemm.n", std::to_string(shape.n)});
  result.input.overrides.push_back({"gemm.k", std::to_string(shape.k)});
  return result;
}

Case with_value(const Case& before, const Sweep& sweep, const std::string& value) {
  Case after = before;
  after.input.overrides.push_back({sweep.path, value});
  const std::string text = printable(sweep.path + "=" + value);
  append(after.varied, text);
  if (!is_shown(sweep.path)) append(after.hidden, text);
  const llvm::StringRef leaf = llvm::StringRef(sweep.path).rsplit('.').second;
  // A swept name tells the programs apart by itself.
  if (sweep.path != "name")
    after.suffix += suffix_of(leaf.empty() ? llvm::StringRef(sweep.path) : leaf) + suffix_of(value);
  after.swept.push_back(value);
  return after;
}

}  // namespace

bool parse_shape(llvm::StringRef text, Shape& shape) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, 'x');
  int64_t* const extents[] = {&shape.m, &shape.n, &shape.k};
  if (parts.size() != std::size(extents)) return false;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].getAsInteger(10, *extents[i]) || *extents[i] < 1) return false;
  return true;
}

std::string shape_text(const Shape& shape) {
  return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
}

std::optional<std::vector<std::string>> parse_values(llvm::StringRef text) {
  std::vector<std::string> values(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth < 0) return std::nullopt;
    if (c == ',' && depth == 0)
      values.emplace_back();
    else
      values.back() += c;
  }
  if (depth != 0 || llvm::any_of(values, [](llvm::StringRef v) { return v.trim().empty(); }))
    return std::nullopt;
  return values;
}

size_t count_cases(size_t inputs, const std::vector<Sweep>& sweeps,
                   const std::vector<Shape>& shapes) {
  size_t count = inputs * std::max<size_t>(shapes.size(), 1);
  for (const Sweep& sweep : sweeps)
    if (__builtin_mul_overflow(count, sweep.values.size(), &count)) return SIZE_MAX;
  return count;
}

std::vector<Case> expand(const std::vector<Input>& inputs, const std::vector<Sweep>& sweeps,
                         const std::vector<Shape>& shapes) {
  std::vector<Case> cases;
  for (const Input& input : inputs) {
    if (shapes.empty()) cases.push_back({input, "", "", ""});
    for (const Shape& shape : shapes) cases.push_back(at_shape(input, shape));
  }
  for (const Sweep& sweep : sweeps) {
    std::vector<Case> next;
    next.reserve(cases.size() * sweep.values.size());
    for (const Case& before : cases)
      for (const std::string& value : sweep.values)
        next.push_back(with_value(before, sweep, value));
    cases = std::move(next);
  }
  return cases;
}

}  // namespace tilepost
