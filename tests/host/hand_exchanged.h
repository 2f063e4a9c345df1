// Host kernels woven by hand that exchange tiles, or rows of A (TILEPOST_ACCESS_TILES), in the
// shape the weaver gives templates/gemm_host.cpp, with faults that a test can ask for.
#pragma once

#include <atomic>

#include "tests/host/hand_woven.h"

struct Problem;

namespace hand_exchanged {

// What rank 0 does wrong in every run. All ranks have one_buffer.
enum class Fault {
  none,
  missing_flag,  // nobody is told of its last tile, or of any of its rows of A
  early_flag,    // others are told of its last tile, and 50 ms later it is stored; not with lines
  one_buffer,    // runs share their slots, and rank 0 sleeps before it reads them
  wrong_run,     // it waits for what is of the run before
};
inline std::atomic<Fault> fault{Fault::none};

// What each rank's last run was given, which may be looked at and changed while none is under way.
inline tilepost_exchange_t last[TILEPOST_MOST_EXCHANGING];

// For 2, 3, 4 or 8 ranks.
tilepost_host_kernel_t choose(const Problem& problem);

// Rows of a box of the problem's kernel.
int box_rows(const Problem& problem);

}  // namespace hand_exchanged
