// The last error's text of each thread, and the only function that sets it.
#pragma once

#include "tilepost/tilepost.h"

namespace tilepost {

// Stores the formatted text as this thread's last error and returns `result`.
[[gnu::format(printf, 2, 3)]] tilepost_result_t fail(tilepost_result_t result, const char* format,
                                                     ...);

}  // namespace tilepost

// Returns from the enclosing function if `call` has failed.
#define TILEPOST_TRY(call)                                                                \
  do {                                                                                    \
    if (const tilepost_result_t result_ = (call); result_ != TILEPOST_OK) return result_; \
  } while (false)
