// The count behind tilepost_bytes_left().
#pragma once

#include <cstdint>

namespace tilepost {

// Counts `bytes` as left to the process or, if less than 0, as freed after all. Any thread may
// call.
void add_bytes_left(int64_t bytes);

}  // namespace tilepost
