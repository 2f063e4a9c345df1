// CUDA's built-in variables: threadIdx, blockIdx, blockDim, gridDim and warpSize.
#pragma once

#include <map>
#include <string>

#include "clang/AST/Decl.h"
#include "generator/infer/state/state.h"

namespace tilepost::inference {

class Builtins {
 public:
  explicit Builtins(State& state)
      : parsed_(state.parsed), launch_(state.launch), nodes_(state.nodes), memory_(state.memory) {}

  // The place of the variable. `found` becomes whether it is a built-in variable.
  Value find(const clang::ValueDecl* variable, bool& found);

 private:
  const Parsed& parsed_;
  const KernelFacts& launch_;
  Nodes& nodes_;
  Memory& memory_;
  std::map<std::string, Value> places_;
};

}  // namespace tilepost::inference
