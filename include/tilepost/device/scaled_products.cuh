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
    constexpr int kGroup = Scales::kGroup;
    int last = 0;
#pragma unroll
    for (int i = 0; i < kBlocks * kSums; ++i) sums[i] = 0;
    Stage next(shared, ring, consumer.number);
    scales.with_border([&](auto border) {
#pragma unroll kGroup
      for (int stage = 0; stage < stages; ++stage) {
        last = ring.index;
        multiply_stage(shared, ring, next, sums, stage % kGroup, stage < stages - 1, consumer,
                       scales, border);
      }
    });
    return last;
  }

 private:
  // Descriptors of a stage's operands: of the consumer's first block of rows, and of the columns.
  struct Stage {
    uint64_t x, y;

    template <class Shared>
    __device__ __forceinline__ Stage(const Shared& shared, const Ring<kStages>& ring, int consumer)
        : x(ptx::matrix_descriptor(shared.a(ring.index) + consumer * kStep * kRowBytes)),
          y(ptx::matrix_descriptor(shared.b(ring.index))) {}
  };

  // Multiplies the stage at which `ring` is and goes on to the next one. What the next one needs is
  // computed while the tensor cores multiply: behind them it would delay the next products.
  template <class Shared, class Consumer, class Scales, class Border>
  static __device__ __forceinline__ void multiply_stage(const Shared& shared, Ring<kStages>& ring,
                                                        Stage& stage, Sums& sums, int in_group,
                                                        bool releases, const Consumer& consumer,
                                                        Scales& scales, Border border) {
    const int multiplied = ring.index;
    ptx::wait_barrier(shared.stages().full(multiplied), ring.parity);
    scales.take(in_group, consumer.thread);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      float products[kSums];
      multiply_block(stage, products, block);
      if (block == 0) scales.advance(in_group);
      if (block == kBlocks - 1) {
        ring.advance();
        stage = Stage(shared, ring, consumer.number);
      }
      ptx::wgmma_wait<0>();
      ptx::pin(products);
      if (block == kBlocks - 1 && releases)
        shared.stages().release(multiplied, consumer.thread, consumer.mates);
      scales.add(sums + block * kSums, products, block, border);
    }
  }

  static __device__ __forceinline__ void multiply_block(const Stage& stage,
                                                        float (&products)[kSums], int block) {
    constexpr int kUnit = 16;  // bytes of a descriptor's addresses
    const uint64_t x = stage.x + block * (kBlock * kRowBytes / kUnit);
    ptx::pin(products);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      ptx::wgmma<kWidth, kElement, false, false>(products, x + 2 * step, stage.y + 2 * step,
                                                 step != 0);
    ptx::wgmma_commit();
    ptx::pin(products);
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_SCALED_PRODUCTS_CUH
