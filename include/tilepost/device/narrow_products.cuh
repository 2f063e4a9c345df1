// The main loops of gemm_sm90_small for e4m3, of which tensor cores add products with about 14
// bits. So each block of 128 products has a sum of its own, which is added in fp32, with its scales
// where blocks have some.
//
// In both, multiply(products, stage, block) starts to multiply one of the kBlocks blocks of K of a
// stage.
#ifndef TILEPOST_DEVICE_NARROW_PRODUCTS_CUH
#define TILEPOST_DEVICE_NARROW_PRODUCTS_CUH

#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/ring.cuh"
#include "tilepost/device/wgmma.cuh"

namespace tilepost {

// Multiplies the consumer's rows of one tile over the CTA's `stages` stages.
template <int kBlocks, int kStages, int kSums, class Shared, class Multiply>
__device__ __forceinline__ void multiply_tile_precisely(const Shared& shared, Ring<kStages>& ring,
                                                        float (&sums)[kSums], int stages,
                                                        int thread, Multiply multiply) {
  float block_sums[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = 0;
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    ptx::wait_barrier(shared.stages().full(ring.index), ring.parity);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      ptx::pin(block_sums);
      ptx::wgmma_fence();
      multiply(block_sums, ring.index, block);
      ptx::wgmma_commit();
      ptx::pin(block_sums);
      ptx::wgmma_wait<0>();
      ptx::pin(block_sums);
#pragma unroll
      for (int i = 0; i < kSums; ++i) sums[i] += block_sums[i];
    }
    shared.stages().release(ring.index, thread);
    ring.advance();
  }
}

// Multiplies as multiply_tile_precisely() does, with the scales of blocks. `Scales` is the kernel's
// StagedScales. Each warp releases a stage, whose scales its lanes have read. With kEarly a thread
// has the registers to take scales while products are computed.
template <class Scales, int kBlocks, bool kEarly, int kStages, int kSums, class Shared,
          class Multiply>
__device__ __forceinline__ void multiply_tile_scaled(const Shared& shared, Ring<kStages>& ring,
                                                     float (&sums)[kSums], int stages, int lane,
                                                     Multiply multiply) {
  float products[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = 0;
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    ptx::wait_barrier(shared.stages().full(ring.index), ring.parity);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      ptx::pin(products);
      ptx::wgmma_fence();
      multiply(products, ring.index, block);
      ptx::wgmma_commit();
      ptx::pin(products);
      typename Scales::OfThread scales;
      if constexpr (kEarly) Scales::take(scales, shared.scales(ring.index), block, lane);
      ptx::wgmma_wait<0>();
      ptx::pin(products);
      if constexpr (!kEarly) Scales::take(scales, shared.scales(ring.index), block, lane);
      Scales::add(sums, products, scales);
    }
    __syncwarp();
    shared.stages().release(ring.index, lane);
    ring.advance();
  }
}

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_NARROW_PRODUCTS_CUH
