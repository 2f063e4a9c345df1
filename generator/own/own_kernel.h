// A kernel of the user's own, for the planner and the emitter. It has the spec's fields, with the
// numbers at the planned shape, and the results of examining the kernel's source.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/one_file.h"
#include "generator/own/block_order.h"
#include "generator/spec/spec.h"

namespace tilepost {

struct OwnKernel {
  KernelSpec spec;
  std::string name;                  // the woven kernel's name: "woven_my_gemm"
  OneFile source;                    // with kernel.cutlass only the file, which is included
  std::vector<std::string> folders;  // absolute include folders to compile generated code with
  Arch arch = Arch::sm_90a;          // the spec's first: the source is read for it
  std::string toolkit;  // the CUDA Toolkit with whose headers it is read; "": stand-ins suffice
  std::array<int32_t, 3> threads = {1, 1, 1};  // of a block: x, y, z
  int32_t shared_bytes = 0;                    // dynamic shared memory of a block
  // Whether marks, or the CUTLASS types that the kernel is made of, show its tiles. Otherwise the
  // tiles are proven, in the order `order`.
  bool marked = false;
  bool persistent = false;                  // whether a block computes several tiles
  std::array<int64_t, 3> grid = {1, 1, 1};  // of the plain kernel at the planned shape
  bool reads_output = false;                // whether a block reads its tile, so it must be zero
  // Where in dynamic shared memory, in bytes, the woven kernel counts a block's threads that have
  // not ended their part of a tile. The place is behind the kernel's own memory. -1: there is no
  // count, because threads wait for each other.
  int32_t count_at = -1;
  BlockOrder order = BlockOrder::table;
  std::vector<int64_t> blocks;  // table: the block, counted along x first, that makes each tile, by
                                // row * columns + column
};

}  // namespace tilepost
