// What every entry point of the C interface does: it checks arguments, and lets no exception out.
#pragma once

#include <exception>
#include <new>

#include "runtime/core/error.h"

namespace tilepost {

// Runs `body`, for the entry point `call`, and turns what it throws into a result.
template <class Body>
tilepost_result_t guarded(const char* call, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(TILEPOST_OUT_OF_MEMORY, "%s: out of host memory", call);
  } catch (const std::exception& error) {
    return fail(TILEPOST_INTERNAL_ERROR, "%s: %s", call, error.what());
  }
}

// Refuses the null argument `name` of the entry point `call`.
inline tilepost_result_t null_argument(const char* call, const char* name) {
  return fail(TILEPOST_INVALID_ARGUMENT, "%s: %s is null", call, name);
}

}  // namespace tilepost
