// Boxes of C where kernels exchange tiles. They are alike in all families whose kernels do, because
// one rank adds up what another one stores.
#pragma once

#include "generator/plan/kernels/config.h"

namespace tilepost {

// The least rows of a tile that a CTA has where kernels exchange tiles.
inline constexpr int kExchangeUnit = 8;

// Rows of a box of C, where kernels exchange tiles.
int box_rows(const KernelConfig& config, const KernelRequest& request);

}  // namespace tilepost
