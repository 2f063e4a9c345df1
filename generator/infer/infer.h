// Which tile each block of an unmarked kernel makes: proven, or refused with the reason.
//
// The kernel's text says nothing of tiles. Its stores do: every address is computed as an
// expression of the thread's and the block's index (interpreter.h), then evaluated for all threads
// of all blocks (footprint.h). What is accepted is proven for the shapes that were given: each
// block stores all of exactly one tile, no two blocks the same one, and nothing else. What cannot
// be proven is refused.
//
// Trusted are what the stores hold, loads, races within a block, that loops end, and that the
// launch is as the facts say.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "generator/clang/parser.h"
#include "generator/own/block_order.h"

namespace tilepost {

// What the spec says of a kernel's launch at one shape. The output is m rows of n elements; a
// column-major one is told with m and n, and the tile's sides, exchanged.
struct KernelFacts {
  int64_t m = 0, n = 0, k = 0;
  std::array<int64_t, 2> tile{};  // rows, columns
  std::array<int64_t, 3> threads{1, 1, 1};
  std::array<int64_t, 3> grid{1, 1, 1};    // of the plain kernel
  std::map<std::string, int64_t> numbers;  // value of each integer parameter, by its name
  std::set<std::string> nulls;             // pointer parameters that are given null
  std::string out;                         // the parameter that points to the output
  int64_t out_ld = 0;                      // elements from one row to the next
  int out_bytes = 0;                       // of an element
  std::vector<std::string> libraries;      // folders of headers that are neither CUDA's nor C++'s
};

// Of a kernel whose m is bounded: what its launch is at each m from 1 on.
using FactsAt = std::function<KernelFacts(int64_t m)>;

// A fact and where it is in the source.
struct InferredPlace {
  clang::SourceLocation where;
  std::string what;
};

struct Inferred {
  BlockOrder order = BlockOrder::table;
  // For each shape: the linear index of the plain kernel's block (x first) that makes each tile, by
  // row * columns + column. Blocks that store nothing are in no list.
  std::vector<std::vector<int64_t>> blocks;
  // Blocks read what is in their tile: their own stores, or what was there before.
  bool reads_output = false;
  // Why a block's body cannot run again in the same block: barriers that are initialised, registers
  // or tensor memory that are given back, copies that nobody waits for.
  std::optional<InferredPlace> runs_once;
  // Where warps of a block wait for those that are left, and others may have left the kernel.
  std::optional<InferredPlace> leaves;
};

// Proves `kernel`, an instantiation with its body, for every one of `shapes`; one of them should be
// ragged and have m != n, because a transposed output hides in squares. Reports at the place in
// the source why it cannot, and returns nothing then. `at`: every run has its own m, up to that of
// the first shape, and the kernel is proven at all at which it may do something else; not so if
// its order is a table, which is of one m. `failed`: at which shape it could not be proven, if it
// could at the first.
std::optional<Inferred> infer(const Parsed& parsed, const clang::FunctionDecl* kernel,
                              const std::vector<KernelFacts>& shapes, const FactsAt& at = {},
                              std::optional<KernelFacts>* failed = nullptr);

// Reports why a kernel whose output is in a parameter that is a structure is not proven: what it
// does that no proof follows, or that of structures what they point to is not followed.
void refuse_structure(const Parsed& parsed, const clang::FunctionDecl* kernel,
                      const clang::ParmVarDecl* parameter);

}  // namespace tilepost
