// Host kernels woven by hand that exchange tiles or rows of A (TILEPOST_ACCESS_TILES). They have
// the form that the weaver gives templates/gemm_host.cpp, and faults that a test can ask for.
#pragma once

#include <atomic>

#include "tests/host/hand_woven.h"

struct Problem;

namespace hand_exchanged {

// A fault of rank 0 in every run. With one_buffer all ranks share buffers between runs.
enum class Fault {
  none,
  missing_flag,  // it announces neither its last tile nor any of its rows of A
  early_flag,    // it announces its last tile 50 ms before it stores it; not with lines
  one_buffer,    // odd and even runs share slots, and rank 0 sleeps before it reads them
  wrong_run,     // it waits for parts with the number of the run before
};
inline std::atomic<Fault> fault{Fault::none};

// The exchange of each rank's last run. Tests may read and change it while no run is under way.
inline tilepost_exchange_t last[TILEPOST_MOST_EXCHANGING];

// The kernel for a problem with 2, 3, 4 or 8 ranks.
tilepost_host_kernel_t choose(const Problem& problem);

// The number of rows in a box of the problem's kernel.
int box_rows(const Problem& problem);

}  // namespace hand_exchanged
