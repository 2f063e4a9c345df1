// The size of an element type, for host code.
#ifndef TILEPOST_DTYPE_H
#define TILEPOST_DTYPE_H

#include <cstdint>

#include "tilepost/plan.h"

namespace tilepost {

// How many bytes an element has.
constexpr int64_t element_bytes(tilepost_dtype_t type) {
  switch (type) {
    case TILEPOST_BF16:
    case TILEPOST_F16:
      break;
    case TILEPOST_E4M3:
      return 1;
    case TILEPOST_F32:
      return 4;
  }
  return 2;
}

}  // namespace tilepost

#endif  // TILEPOST_DTYPE_H
