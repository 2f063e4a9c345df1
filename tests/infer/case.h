// A kernel with its launch, and the result of inference for it.
//
// Lines of a kernel's file that describe its launch and the expected result. Only the first is
// required.
//   // tile: 32 32                rows, columns
//   // threads: 32 32
//   // grid: columns rows         words: rows, columns (of tiles), linear (their product), numbers
//   // shapes: 128x192 70x101     m x n of each shape
//   // any_m: yes                 every run has its own m, up to that of the first shape
//   // function: gemm<32>
//   // bytes: 4                   of an element of the output
//   // out: C                     the output
//   // numbers: M m N n ldc n     what integer parameters get: m, n, k or a number
//   // nulls: bias                the pointers that get null
//   // order: columns_then_rows   the order of tiles that inference must find
//   // reads: yes                 inference must find that the kernel reads C
//   // once: yes                  … that it cannot run again in one block
//   // leaves: yes                … that threads may have left the kernel where others wait
//   // expect: 12: text         … and give an error at that line; without a number, a note
#pragma once

#include <string>
#include <vector>

#include "generator/clang/instantiate.h"
#include "generator/infer/infer.h"

namespace tilepost {

struct InferCase {
  std::string name, source, function = "gemm", order;
  std::vector<KernelFacts> shapes;
  FactsAt at;  // the launch at each m, where every run has its own
  bool reads = false, once = false, leaves = false;
  std::vector<std::string> expected;  // "12: text", "text"
  std::vector<Parameter> parameters;  // where a test needs them
  std::optional<FullMode> full;       // where installed headers are to be read
};

// Reads a kernel's file.
InferCase read_case(const std::string& path);
// Makes a case of a kernel's text.
InferCase make_case(const std::string& name, const std::string& source);
// The files of a folder beside this one, sorted.
std::vector<std::string> case_files(const std::string& folder);

struct InferResult {
  std::optional<Inferred> inferred;
  std::string messages;
  std::vector<Parameter> parameters;  // names and types
  double seconds = 0;
};

InferResult infer_case(const InferCase& kernel);

}  // namespace tilepost
