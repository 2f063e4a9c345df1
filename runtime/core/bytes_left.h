// The count behind tilepost_bytes_left().
#pragma once

#include <cstdint>

namespace tilepost {

// `bytes` are left to the process, or, less than 0, were given back after all. Any thread.
void add_bytes_left(int64_t bytes);

}  // namespace tilepost
