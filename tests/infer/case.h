// A kernel with its launch, and what inference says of it.
//
// Lines of a kernel's file that say its launch, all but the first optional:
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
//   // order: columns_then_rows   what is expected
//   // reads: yes                 it reads C
//   // once: yes                  it cannot run again in one block
//   // leaves: yes                threads may have left the kernel where others wait
//   // expect: 12: text           of an error at that line, of a note without a number
#pragma once

#include <string>
#include <vector>

#include "generator/clang/instantiate.h"
#include "generator/infer/infer.h"

namespace tilepost {

struct InferCase {
  std::string name, source, function = "gemm", order;
  std::vector<KernelFacts> shapes;
  FactsAt at;  // where m is bounded
  bool reads = false, once = false, leaves = false;
  std::vector<std::string> expected;  // "12: text", "text"
  std::vector<Parameter> parameters;  // where a test needs them
  std::optional<FullMode> full;       // to be read with installed headers
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
