#pragma once

#include <element.h>

#define ROWS 8

namespace lib {

struct Place {
  int row, column;
};

__device__ inline Place place_of_thread() {
  return {static_cast<int>(blockIdx.y * ROWS + threadIdx.y),
          static_cast<int>(blockIdx.x * COLUMNS + threadIdx.x)};
}

}  // namespace lib
