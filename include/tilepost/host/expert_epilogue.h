// The epilogue of a grouped GEMM on the host target (templates/gemm_host_experts.cpp).
#ifndef TILEPOST_HOST_EXPERT_EPILOGUE_H
#define TILEPOST_HOST_EXPERT_EPILOGUE_H

#include <cmath>

#include "tilepost/host/epilogue.h"
#include "tilepost/internal/expert_ops.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::epilogue {

// Combines gate and up by the one operation of kOps that does so.
template <int kOps>
inline float combine(float gate, float up) {
  if constexpr ((kOps & TILEPOST_SWIGLU) != 0) return silu(gate) * up;
  if constexpr ((kOps & TILEPOST_GEGLU) != 0) return gelu(gate) * up;
  if constexpr ((kOps & TILEPOST_SWIGLU_CLAMPED) != 0) {
    const float g = std::fmin(gate, kGateLimit);
    const float u = std::fmin(std::fmax(up, -kUpLimit), kUpLimit);
    return g / (1.0f + std::exp(-kSigmoidSlope * g)) * (u + 1.0f);
  }
  return gate * up;
}

}  // namespace tilepost::epilogue

#endif  // TILEPOST_HOST_EXPERT_EPILOGUE_H
