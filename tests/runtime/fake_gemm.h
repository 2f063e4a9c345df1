// What a GEMM without data does: raises counters, waits for them, and has tasks.
#pragma once

#include "tests/runtime/fakes.h"

namespace fakes {

// The kernel of these arguments, on `stream`.
void post_tiles(void** arguments, Stream& stream);

}  // namespace fakes
