// The woven kernel of a rank that is a thread (ranks.h) where kernels exchange tiles
// (TILEPOST_ACCESS_TILES), as the launch describes it, and programs that have such kernels.
#pragma once

#include "tests/runtime/rank_kernel.h"

namespace ranks {

// Edits a program: tiles of 16 x 8, 24 columns, k 8. `ctas`: that share a tile; each has some of
// its rows. Boxes are of eight rows in two shots, and where a rank gets its share.
void use_exchange(Program& program, tilepost_shots_t shots, int ranks, int64_t m, int ctas = 1,
                  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE);

// Edits a program: tiles of 16 x 8, 24 columns, k 512, so that two rows of A are a part.
void use_exchanged_rows(Program& program, int ranks, int64_t m);

// The whole run, on the calling thread: meets the other ranks, stores, waits and adds up. One that
// is given up does not end before the host says abort.
fakes::Hang run_exchange(const Program& program, void** arguments);
fakes::Hang run_exchange_of_rows(const Program& program, void** arguments);

}  // namespace ranks
