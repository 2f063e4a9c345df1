// From specs, shapes and sweeps to the list of cases that a command goes through.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/driver.h"

namespace tilepost {

// `--shape 4096x4096x4096`: gemm.m, gemm.n and gemm.k together.
struct Shape {
  int64_t m = 0, n = 0, k = 0;
};
// Reads "MxNxK"; false if it is none.
bool parse_shape(llvm::StringRef text, Shape& shape);
// "4096x4096x4096".
std::string shape_text(const Shape& shape);

// `--sweep gemm.m=1,7,64`.
struct Sweep {
  std::string path;                 // dotted field name
  std::vector<std::string> values;  // each parsed as the field is
};
// Reads "1,7,64". Commas inside [] and {} belong to a value. Nothing if a value is empty or
// brackets do not match.
std::optional<std::vector<std::string>> parse_values(llvm::StringRef text);

// The most cases of one command. More of them are rather a slip than a question.
inline constexpr size_t kMaxCases = 4096;
// How many cases expand() makes. What is more than any bound counts as SIZE_MAX.
size_t count_cases(size_t inputs, const std::vector<Sweep>& sweeps,
                   const std::vector<Shape>& shapes);

// One spec at one shape with one combination of swept values, which are appended to its overrides.
struct Case {
  Input input;
  std::string varied;  // "1x2x3, ranks=2, gemm.m=7": empty without shapes and sweeps
  std::string hidden;  // those of `varied` that a line of the report does not show anyway
  std::string suffix;  // of a program's name: "_1x2x3_ranks_2_m_7"
  std::optional<Shape> shape = {};
  std::vector<std::string> swept = {};  // a value of each sweep

  // The input of a program of its own, which is called after what the cases differ in.
  Input named() const {
    Input named = input;
    named.suffix = suffix;
    return named;
  }
};

// Every input at every shape with every combination, the last sweep varying fastest. Without shapes
// every input has its own. A sweep without values gives no case.
std::vector<Case> expand(const std::vector<Input>& inputs, const std::vector<Sweep>& sweeps,
                         const std::vector<Shape>& shapes = {});

}  // namespace tilepost
