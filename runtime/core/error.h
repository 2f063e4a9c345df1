// The last-error text of a thread, and the one way to fail.
#pragma once

#include "tilepost/tilepost.h"

namespace tilepost {

// Stores the formatted text as this thread's last error and returns `result`.
[[gnu::format(printf, 2, 3)]] tilepost_result_t fail(tilepost_result_t result, const char* format,
                                                     ...);

}  // namespace tilepost
