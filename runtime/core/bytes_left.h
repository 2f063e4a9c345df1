// The counter that tilepost_bytes_left() returns.
#pragma once

#include <cstdint>

namespace tilepost {

// Counts `bytes` as left to the process, or if `bytes` is negative, as freed after all. Any thread
// may call.
void add_bytes_left(int64_t bytes);

}  // namespace tilepost
