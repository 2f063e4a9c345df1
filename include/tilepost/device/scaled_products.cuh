// The main loop of gemm_sm90 for operands whose blocks have scales (tilepost_scales_t).
#ifndef TILEPOST_DEVICE_SCALED_PRODUCTS_CUH
#define TILEPOST_DEVICE_SCALED_PRODUCTS_CUH

#include <cstdint>

#include "tilepost/device/block_scales.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/ring.cuh"
#include "tilepost/device/wgmma.cuh"
#include "tilepost/mark.cuh"

namespace tilepost {

// As Products without kNN: the sums are in its order, and kSwap is not possible here. The products
// of a stage have registers of their own for one block of 64 rows at a time, which all blocks of a
// consumer use in turn. The other consumer keeps the tensor cores busy while these products are
// scaled and added.
template <int kBlocks, int kWidth, int kStep, int kStages, bool kSwap, DType kElement>
struct ScaledProducts {
  static constexpr int kSums = kWidth / 2;
  static constexpr int kBlock = 64;  // rows of one wgmma
  static constexpr int kRowBytes = 128;
  static constexpr int kSteps = 4;  // wgmmas along a row: 32 bytes each
  using Sums = float[kBlocks * kSums];

  // Multiplies a consumer's part of one tile and returns the last stage, which is not released.
  // `scales` has been opened for the tile (BlockScales).
  template <class Shared, class Consumer, class Scales>
  static __device__ __forceinline__ int multiply_tile(const Shared& shared, Ring<kStages>& ring,
                                                      Sums& sums, int stages,
                                                      const Consumer& consumer, Scales& scales) {
    static_assert(!Scales::kUsed || !kSwap, "scales of A are those of the instruction's rows");
    int last = 0;
#pragma unroll
    for (int i = 0; i < kBlocks * kSums; ++i) sums[i] = 0;
#pragma unroll 1
    for (int first = 0; first < stages; first += Scales::kAhead) {
#pragma unroll
      for (int slot = 0; slot < Scales::kAhead; ++slot) {
        const int stage = first + slot;
        if (stage >= stages) break;
        multiply_stage(shared, ring, sums, stage, slot, stage < stages - 1, consumer, scales);
        last = ring.index;
        ring.advance();
      }
    }
    return last;
  }

 private:
  template <class Shared, class Consumer, class Scales>
  static __device__ __forceinline__ void multiply_stage(const Shared& shared,
                                                        const Ring<kStages>& ring, Sums& sums,
                                                        int stage, int slot, bool releases,
                                                        const Consumer& consumer, Scales& scales) {
    ptx::wait_barrier(shared.stages().full(ring.index), ring.parity);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      float products[kSums];
      multiply_block(shared, ring.index, products, consumer.number, block);
      if (block == 0) scales.take(stage, slot, consumer.thread);
      ptx::wgmma_wait<0>();
      ptx::pin(products);
      if (block == kBlocks - 1 && releases)
        shared.stages().release(ring.index, consumer.thread, consumer.mates);
      scales.add(sums + block * kSums, products, block);
    }
  }

  template <class Shared>
  static __device__ __forceinline__ void multiply_block(const Shared& shared, int stage,
                                                        float (&products)[kSums], int consumer,
                                                        int block) {
    const uint64_t x =
        ptx::matrix_descriptor(shared.a(stage) + (consumer * kStep + block * kBlock) * kRowBytes);
    const uint64_t y = ptx::matrix_descriptor(shared.b(stage));
    ptx::pin(products);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      ptx::wgmma<kWidth, kElement, false, false>(products, x + 2 * step, y + 2 * step, step != 0);
    ptx::wgmma_commit();
    ptx::pin(products);
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_SCALED_PRODUCTS_CUH
