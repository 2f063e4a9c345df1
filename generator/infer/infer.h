// Proves which tile each block of an unmarked kernel makes, or refuses the kernel with the reason.
//
// The kernel's text does not name tiles, but its stores show them. The address of every store is
// computed as an expression of the thread's and the block's index (interpreter.h). The expression
// is evaluated for all threads of all blocks (footprint.h). An accepted kernel is proven for the
// given shapes: each block that stores anything stores all of exactly one tile and nothing else,
// and no two blocks store the same tile. A kernel that cannot be proven is refused.
//
// Some things are trusted without proof: stored values and loads are right, there are no races
// within a block, loops end, and the launch is as in the facts (KernelFacts).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/clang/parser.h"
#include "generator/infer/state/effects.h"
#include "generator/infer/values/launch.h"
#include "generator/own/block_order.h"

namespace tilepost {

struct Inferred {
  BlockOrder order = BlockOrder::table;
  // For each shape a list with the block of the plain kernel that makes each tile. Tiles are in the
  // order row * columns + column, blocks are counted along x first. Blocks that store nothing are
  // in no list.
  std::vector<std::vector<int64_t>> blocks;
  // Whether blocks read their tile of the output: what they stored, or what was there before.
  bool reads_output = false;
  // Why the kernel's body cannot run a second time in the same block. For example it initialises a
  // barrier, gives registers back, or starts copies that nobody waits for.
  std::optional<InferredPlace> runs_once;
  // A barrier of the block before which some warps may leave the kernel. The other warps do not
  // wait for them.
  std::optional<InferredPlace> leaves;
};

// Proves `kernel`, an instantiation with its body, for every one of `shapes`. One of them should
// have partial tiles and m != n, because a transposed output does not show in a square. If the
// proof fails, reports why at the place in the source and returns nothing.
//
// If `at` is given, m may differ from run to run, up to the m of the first shape. Then the kernel
// is also proven at every m at which it may do something else, unless the order is a table: a table
// is for one m. `failed` becomes the shape at which the proof failed, unless it is the first shape.
std::optional<Inferred> infer(const Parsed& parsed, const clang::FunctionDecl* kernel,
                              const std::vector<KernelFacts>& shapes, const FactsAt& at = {},
                              std::optional<KernelFacts>* failed = nullptr);

// Reports why a kernel whose output is in a structure parameter is not proven. Either the kernel
// does something that a proof cannot follow, or the only reason is the structure: pointers in
// structures are not followed.
void refuse_structure(const Parsed& parsed, const clang::FunctionDecl* kernel,
                      const clang::ParmVarDecl* parameter);

}  // namespace tilepost
