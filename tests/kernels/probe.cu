// One of each instruction that opcodes.cpp counts: two matrix instructions, with both memory
// barriers between them, and a pause. On sm_89 there is also one of e4m3, which sm_90a replaces by
// two of f16. On sm_90a there is also a warpgroup's instruction of either element size.
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/wgmma.cuh"

__global__ void probe(uint32_t* counter, float* out) {
  float sum[4] = {};
  const uint32_t a[4] = {counter[0], counter[1], counter[2], counter[3]};
  tilepost::ptx::mma_16x8<tilepost::DType::bf16>(sum, a, a[0], a[1]);
  __threadfence();
  tilepost::ptx::red_release_sys(counter, 1);
  // It is read after the barriers, so that the second multiplication stays behind them.
  const uint32_t late = tilepost::ptx::load_relaxed_sys(counter);
  tilepost::ptx::mma_16x8<tilepost::DType::f16>(sum, a, late, a[3]);
  tilepost::ptx::sleep_ns(32);
  for (int i = 0; i < 4; ++i) out[i] = sum[i];
}

#if __CUDA_ARCH__ >= 890
__global__ void probe_e4m3(uint32_t* out, const uint32_t* in) {
  float sum[4] = {};
  const uint32_t a[4] = {in[0], in[1], in[2], in[3]};
  tilepost::ptx::mma_16x8<tilepost::DType::e4m3>(sum, a, a[0], a[1]);
  for (int i = 0; i < 4; ++i) out[i] = __float_as_uint(sum[i]);
}
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <tilepost::DType kType>
__device__ void multiply_by_warpgroup(uint64_t a, uint64_t b, float* out) {
  float sums[64] = {};
  tilepost::ptx::wgmma_fence();
  tilepost::ptx::wgmma<128, kType, false>(sums, a, b, true);
  tilepost::ptx::wgmma_commit();
  tilepost::ptx::wgmma_wait<0>();
  tilepost::ptx::pin(sums);
  for (int i = 0; i < 64; ++i) out[threadIdx.x * 64 + i] = sums[i];
}
__global__ void __launch_bounds__(128) probe_warpgroup(uint64_t a, uint64_t b, float* out) {
  multiply_by_warpgroup<tilepost::DType::bf16>(a, b, out);
}
__global__ void __launch_bounds__(128) probe_warpgroup_e4m3(uint64_t a, uint64_t b, float* out) {
  multiply_by_warpgroup<tilepost::DType::e4m3>(a, b, out);
}
#endif
