#include "generator/plan/kernels/exchange_boxes.h"

#include <algorithm>

namespace tilepost {
namespace {

// The largest number of units of a box, up to `most`, that divides the `owned` units of a CTA.
int even_box(int owned, int most) {
  int box = std::clamp(most, 1, owned);
  while (owned % box != 0) --box;
  return box;
}

// Units of a box of C: all that a CTA owns, if every CTA owns the same. A kernel that exchanges no
// tiles stores such boxes, however shares lie. With two shots each box is summed by one rank. Then
// boxes are so small, if they can be, that every rank gets some of what a CTA owns. Boxes in which
// a share may end are small, because both ranks get such a box as a whole.
int units_of_box(const KernelConfig& config, const KernelRequest& request) {
  constexpr int kMostWithEnds = 2;
  const int units = config.tile_m / kExchangeUnit;
  if (units % config.split_k != 0) return 1;
  const int owned = units / config.split_k;
  if (request.shots == TILEPOST_SHOTS_NONE) return owned;
  if (request.shots == TILEPOST_TWO_SHOT) return even_box(owned, owned / request.ranks);
  const bool ends =
      request.share_rows > 0 && request.share_rows % (int64_t{kExchangeUnit} * owned) != 0;
  return ends ? even_box(owned, kMostWithEnds) : owned;
}

}  // namespace

int box_rows(const KernelConfig& config, const KernelRequest& request) {
  return kExchangeUnit * units_of_box(config, request);
}

}  // namespace tilepost
