// A kernel with parts in headers. One header is in a folder of its own, one is included twice, and
// one asks for the block's place.
#include "lib/place.h"
#include "lib/product.h"

__global__ void __launch_bounds__(ROWS* COLUMNS)
    with_headers(Element* c, const Element* a, const Element* b, int m, int n, int k) {
  const lib::Place place = lib::place_of_thread();
  if (place.row < m && place.column < n)
    c[place.row * n + place.column] = lib::product(a, b, place, k);
}
