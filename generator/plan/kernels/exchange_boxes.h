// Boxes of C of kernels that can exchange tiles. They are alike in all families, because one rank
// adds up what another one stores.
#pragma once

#include "generator/plan/kernels/config.h"

namespace tilepost {

// The least rows of a tile that a CTA has where kernels exchange tiles.
inline constexpr int kExchangeUnit = 8;

// Rows of a box of C. Where kernels exchange no tiles (request.shots), it is what
// gemm_sm90_small.cu stores at once without its tunable BOX_M.
int box_rows(const KernelConfig& config, const KernelRequest& request);

}  // namespace tilepost
