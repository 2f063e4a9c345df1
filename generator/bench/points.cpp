#include "generator/bench/bench.h"
#include "llvm/ADT/SmallVector.h"

namespace tilepost {

bool parse_shape(llvm::StringRef text, Shape& shape) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, 'x');
  int64_t* const extents[] = {&shape.m, &shape.n, &shape.k};
  if (parts.size() != std::size(extents)) return false;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].getAsInteger(10, *extents[i]) || *extents[i] < 1) return false;
  return true;
}

std::vector<Case> bench_cases(const std::vector<Input>& inputs, const BenchOptions& options) {
  std::vector<Input> shaped;
  for (const Input& input : inputs) {
    if (options.shapes.empty()) shaped.push_back(input);
    for (const Shape& shape : options.shapes) {
      Input& next = shaped.emplace_back(input);
      next.overrides.push_back({"gemm.m", std::to_string(shape.m)});
      next.overrides.push_back({"gemm.n", std::to_string(shape.n)});
      next.overrides.push_back({"gemm.k", std::to_string(shape.k)});
    }
  }
  return expand(shaped, options.sweeps);
}

}  // namespace tilepost
