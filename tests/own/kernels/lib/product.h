#ifndef LIB_PRODUCT_H
#define LIB_PRODUCT_H

#include "place.h"

namespace lib {

__device__ inline Element product(const Element* a, const Element* b, Place place, int k) {
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += widened(a[place.row * k + i]) * widened(b[place.column * k + i]);
  return narrowed(sum);
}

}  // namespace lib

#endif
