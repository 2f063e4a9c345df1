// From specs and sweeps to the list of cases to verify.
#pragma once

#include <string>
#include <vector>

#include "generator/driver.h"

namespace tilepost {

// `--sweep gemm.m=1,7,64`.
struct Sweep {
  std::string path;                 // dotted field name
  std::vector<std::string> values;  // each parsed as the field is
};

// One spec with one combination of swept values appended to its overrides.
struct Case {
  Input input;
  std::string varied;  // "ranks=2, gemm.m=7": empty without sweeps
  std::string hidden;  // the part of `varied` that a line of the report does not show anyway
};

// Every input with every combination, the last sweep varying fastest. A sweep without values gives
// no case.
std::vector<Case> expand(const std::vector<Input>& inputs, const std::vector<Sweep>& sweeps);

}  // namespace tilepost
