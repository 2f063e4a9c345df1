// One of each instruction that opcodes.cpp counts: two matrix instructions with both memory
// barriers between them. On sm_90a also a warpgroup's.
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/wgmma.cuh"

__global__ void probe(uint32_t* counter, float* out) {
  float sum[4] = {};
  const uint32_t a[4] = {counter[0], counter[1], counter[2], counter[3]};
  tilepost::ptx::mma_16x8x16<tilepost::DType::bf16>(sum, a, a[0], a[1]);
  __threadfence();
  tilepost::ptx::red_release_sys(counter, 1);
  // Read after the barriers, so that the second multiplication stays behind them.
  const uint32_t late = tilepost::ptx::load_relaxed_sys(counter);
  tilepost::ptx::mma_16x8x16<tilepost::DType::f16>(sum, a, late, a[3]);
  for (int i = 0; i < 4; ++i) out[i] = sum[i];
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__global__ void __launch_bounds__(128) probe_warpgroup(uint64_t a, uint64_t b, float* out) {
  float sums[64] = {};
  tilepost::ptx::wgmma_fence();
  tilepost::ptx::wgmma<128, tilepost::DType::bf16>(sums, a, b, true);
  tilepost::ptx::wgmma_commit();
  tilepost::ptx::wgmma_wait<0>();
  tilepost::ptx::pin(sums);
  for (int i = 0; i < 64; ++i) out[threadIdx.x * 64 + i] = sums[i];
}
#endif
