// What a fake GEMM does. It has no data: it raises counters, waits for counters, and has tasks.
#pragma once

#include "tests/runtime/fakes.h"

namespace fakes {

// Executes the kernel with these arguments on `stream`.
void post_tiles(void** arguments, Stream& stream);

}  // namespace fakes
