// A kernel of the user's own, for the planner and the emitter: what the spec says of it, with its
// numbers at the planned shape, and what examining its source has found out.
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
  std::string name;                  // of the woven kernel: "woven_my_gemm"
  OneFile source;                    // kernel.cutlass: the file alone, which is included
  std::vector<std::string> folders;  // those it is compiled with, absolute: of headers that
                                     // generated code includes
  Arch arch =
      Arch::sm_90a;     // whose lines of it are read, where it has some for each: the spec's first
  std::string toolkit;  // the CUDA Toolkit whose headers it is read with; "": stand-ins suffice
  std::array<int32_t, 3> threads = {1, 1, 1};  // of a block: x, y, z
  int32_t shared_bytes = 0;                    // dynamic, of a block
  bool marked = false;      // its tiles are said by marks, or by the types it is made of; else they
                            // are proven, as `order` says
  bool persistent = false;  // a block computes several tiles; else one
  std::array<int64_t, 3> grid = {1, 1, 1};  // of the plain kernel at the planned shape
  bool reads_output = false;                // a block reads its tile, which must be zero before
  // Where in dynamic shared memory, in bytes, the woven kernel counts a block's threads that have
  // not ended their part of a tile. The place is behind the kernel's own memory. -1: there is no
  // count, because threads wait for each other.
  int32_t count_at = -1;
  BlockOrder order = BlockOrder::table;
  std::vector<int64_t> blocks;  // table: the block, counted along x first, that makes each tile, by
                                // row * columns + column
};

}  // namespace tilepost
