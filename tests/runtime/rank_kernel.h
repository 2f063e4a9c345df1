// A stand-in for the woven kernel where ranks are threads (ranks.h). It does what its launch's
// arguments describe.
#pragma once

#include "tests/runtime/ranks.h"

namespace ranks {

// Computes all tiles. Where input arrives while the kernel runs, it computes the tiles whose input
// has arrived, and self().resume() computes the others. A launch for one group computes only the
// tiles whose input has arrived. The kernel waits for other ranks at most `seconds`. If that was
// too short, it does not end before the host writes `abort`.
fakes::Hang run_kernel(const Program& program, void** arguments, double seconds);

// The arguments of the last launch on `rank` that was a whole run.
const tilepost_exchange_t& last_exchange(int rank);

// Sleeps for a moment whose length differs between ranks.
void linger();

}  // namespace ranks
