// Boxes of C where kernels exchange tiles: alike in all families whose kernels do, since what one
// rank stores another one adds up.
#pragma once

#include "generator/plan/kernels/config.h"

namespace tilepost {

// Rows of a tile that a CTA has at least where kernels exchange tiles.
inline constexpr int kExchangeUnit = 8;

// Rows of a box of C, where kernels exchange tiles.
int box_rows(const KernelConfig& config, const KernelRequest& request);

}  // namespace tilepost
