// A stand-in for the woven kernel where kernels exchange tiles (TILEPOST_ACCESS_TILES) and ranks
// are threads (ranks.h). It does what its launch's arguments describe. Functions here also make
// programs that have such kernels.
#pragma once

#include <atomic>

#include "tests/runtime/rank_kernel.h"

namespace ranks {

// Edits a program: tiles of 16 x 8, 24 columns, k 8. `ctas` CTAs share a tile, and each has some of
// its rows. A box has eight rows in two shots, and in patterns where a rank gets only its share.
void use_exchange(Program& program, tilepost_shots_t shots, int ranks, int64_t m, int ctas = 1,
                  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE);

// Edits a program: tiles of 16 x 8, 24 columns, k 512. Two rows of A are then one part.
void use_exchanged_rows(Program& program, int ranks, int64_t m);

// Where blocks of A have scales, the stand-in compares those of every tile with scale_of(), by row
// of all and block, and counts those that differ.
inline std::atomic<int> wrong_scales{0};
constexpr float scale_of(int64_t row, int64_t block) {
  return static_cast<float>(1 + row * 32 + block);
}

// Executes a whole run on the calling thread: meets the other ranks, stores, waits and adds up. A
// kernel that gives up at its deadline ends only when the host writes `abort`.
fakes::Hang run_exchange(const Program& program, void** arguments);
fakes::Hang run_exchange_of_rows(const Program& program, void** arguments);

}  // namespace ranks
