// Proves which tile each block of an unmarked kernel makes, or refuses the kernel with the reason.
//
// The kernel's text says nothing of tiles. Its stores do: every address is computed as an
// expression of the thread's and the block's index (interpreter.h), then evaluated for all threads
// of all blocks (footprint.h). What is accepted is proven for the shapes that were given: each
// block stores all of exactly one tile, no two blocks the same one, and nothing else. What cannot
// be proven is refused.
//
// Not proven but trusted are the values that are stored, loads, that there are no races within a
// block, that loops end, and that the launch is as the facts say.
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
  // Whether blocks read their tile of the output: their own stores, or what was there before.
  bool reads_output = false;
  // Why a block's body cannot run again in the same block: barriers that are initialised, registers
  // or tensor memory that are given back, copies that nobody waits for.
  std::optional<InferredPlace> runs_once;
  // A barrier of the block at which some warps may already have left the kernel. The others do not
  // wait for these.
  std::optional<InferredPlace> leaves;
};

// Proves `kernel`, an instantiation with its body, for every one of `shapes`. One of them should
// have partial tiles and m != n, because a transposed output does not show in a square. If the
// proof fails, reports why at the place in the source and returns nothing. If `at` is given, every
// run has an m of its own, up to that of the first shape, and the kernel is also proven at every m
// at which it may do something else. This is left out if the order is a table, which is for one m.
// `failed` becomes the shape at which the proof failed, if it succeeded at the first.
std::optional<Inferred> infer(const Parsed& parsed, const clang::FunctionDecl* kernel,
                              const std::vector<KernelFacts>& shapes, const FactsAt& at = {},
                              std::optional<KernelFacts>* failed = nullptr);

// Reports why a kernel whose output is in a structure parameter is not proven: it does something
// that a proof cannot follow, or the only reason is that pointers in structures are not followed.
void refuse_structure(const Parsed& parsed, const clang::FunctionDecl* kernel,
                      const clang::ParmVarDecl* parameter);

}  // namespace tilepost
