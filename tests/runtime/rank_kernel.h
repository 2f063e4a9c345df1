// The woven kernel of a rank that is a thread (ranks.h), as the launch describes it.
#pragma once

#include "tests/runtime/ranks.h"

namespace ranks {

// Computes all tiles; where their input arrives meanwhile, those that have it, and the others when
// self().resume() is called, but for launches of groups, which compute those alone that have it.
// Tasks wait for the tiles of all ranks no longer than `seconds`; then the kernel does not end
// before it is told to.
fakes::Hang run_kernel(const Program& program, void** arguments, double seconds);

// What the last run on `rank` that was a kernel alone was launched with.
const tilepost_exchange_t& last_exchange(int rank);

// Takes a moment, not the same on all ranks.
void linger();

}  // namespace ranks
