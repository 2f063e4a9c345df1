// The main loop of gemm_sm90_experts: a warpgroup multiplies a tile whose height is known when it
// runs.
#ifndef TILEPOST_DEVICE_EXPERT_PRODUCTS_CUH
#define TILEPOST_DEVICE_EXPERT_PRODUCTS_CUH

#include <cstdint>

#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/ring.cuh"
#include "tilepost/device/wgmma.cuh"
#include "tilepost/internal/expert_tiles.h"
#include "tilepost/mark.cuh"

namespace tilepost {

// A warpgroup has kBlocks blocks of 64 rows of B, which are rows of the matrix instruction. From
// one to the next are kBlockStep rows. It has up to kMost rows of A, which are its columns. A
// thread holds kMost / 2 sums of each block. Of a tile with fewer rows it holds the first ones.
// kNN: B has K in rows. kPrecise: the sums of each stage are added in fp32. kCopied: threads have
// copied rows of A (token_rows.cuh). kAtOnce: see multiply_precise(). `Shared` is as for Products
// (products.cuh).
template <int kBlocks, int kBlockStep, int kMost, int kStages, bool kNN, bool kPrecise,
          DType kElement, bool kCopied, int kAtOnce>
struct ExpertProducts {
  static constexpr int kBlockSums = kMost / 2;
  static constexpr int kRowBytes = 128, kSteps = 4;
  using Sums = float[kBlocks * kBlockSums];

  // Waits until the ring's next stage has been filled, and may be read by matrix instructions.
  template <class Shared>
  static __device__ __forceinline__ void await_full(const Shared& shared,
                                                    const Ring<kStages>& ring) {
    ptx::wait_barrier(shared.stages().full(ring.index), ring.parity);
    if constexpr (kCopied) ptx::fence_shared_to_async();
  }

  // Starts the multiplication of some blocks of a stage, from `first` on, as one group of wgmma:
  // those for which `sums` has room, with kApart sums of each. `fresh`: these are the first
  // products of the sums.
  template <int kRows, int kApart, class Shared, int kHeld>
  static __device__ __forceinline__ void multiply_blocks(const Shared& shared, int stage, int first,
                                                         float (&sums)[kHeld], bool fresh) {
    ptx::pin(sums);
    ptx::wgmma_fence();
    const uint64_t y = ptx::matrix_descriptor(shared.a(stage));
#pragma unroll
    for (int i = 0; i < kHeld / kApart; ++i) {
      const uint64_t x =
          ptx::matrix_descriptor(shared.b(stage) + (first + i) * kBlockStep * kRowBytes);
#pragma unroll
      for (int step = 0; step < kSteps; ++step)
        ptx::wgmma<kRows, kElement, false, kNN>(
            *reinterpret_cast<float(*)[kRows / 2]>(sums + i * kApart),
            x + ptx::kStepOfA<kNN> * step, y + 2 * step, !fresh || step != 0);
    }
    ptx::wgmma_commit();
    ptx::pin(sums);
  }

  // Multiplies a tile of at most kRows rows. `stages` is at least 1. Calls issued() when the last
  // products are under way. Stages are released as they have been multiplied.
  template <int kRows, class Shared, class Issued>
  static __device__ __forceinline__ void multiply(const Shared& shared, Ring<kStages>& ring,
                                                  Sums& sums, int stages, int thread,
                                                  const Issued& issued) {
    int previous = -1;
#pragma unroll 1
    for (int i = 0; i < stages; ++i) {
      await_full(shared, ring);
      multiply_blocks<kRows, kBlockSums>(shared, ring.index, 0, sums, i == 0);
      ptx::wgmma_wait<1>();
      if (previous >= 0) shared.release(previous, thread);
      previous = ring.index;
      ring.advance();
    }
    issued();
    ptx::wgmma_wait<0>();
    ptx::pin(sums);
    shared.release(previous, thread);
  }

  // As multiply(), but the products of a stage have registers of their own, and are added to the
  // sums. kAtOnce blocks are multiplied at once: all where consumers take turns at tiles, since
  // nobody else multiplies while this one adds; one where another consumer does.
  template <int kRows, class Shared, class Issued>
  static __device__ __forceinline__ void multiply_precise(const Shared& shared, Ring<kStages>& ring,
                                                          Sums& sums, int stages, int thread,
                                                          const Issued& issued) {
#pragma unroll
    for (int i = 0; i < kBlocks * kBlockSums; ++i) sums[i] = 0;
#pragma unroll 1
    for (int i = 0; i < stages; ++i) {
      await_full(shared, ring);
#pragma unroll
      for (int block = 0; block < kBlocks; block += kAtOnce) {
        // No more registers than these products need: with those of kMost rows ptxas serialised
        // wgmma where an epilogue follows (C7511).
        constexpr int kProducts = kRows / 2;
        const bool last = block + kAtOnce == kBlocks;
        float products[kAtOnce * kProducts];
        multiply_blocks<kRows, kProducts>(shared, ring.index, block, products, true);
        if (last && i == stages - 1) issued();
        ptx::wgmma_wait<0>();
        ptx::pin(products);
        if (last) {
          shared.release(ring.index, thread);
          ring.advance();
        }
#pragma unroll
        for (int each = 0; each < kAtOnce; ++each)
#pragma unroll
          for (int sum = 0; sum < kProducts; ++sum)
            sums[(block + each) * kBlockSums + sum] += products[each * kProducts + sum];
      }
    }
  }

  // Multiplies a tile of `rows` rows with the narrowest instruction that has room for them.
  template <int kRows = kExpertUnit, class Shared, class Issued>
  static __device__ __forceinline__ void multiply_rows(int rows, const Shared& shared,
                                                       Ring<kStages>& ring, Sums& sums, int stages,
                                                       int thread, const Issued& issued) {
    if constexpr (kRows < kMost) {
      if (rows > kRows)
        return multiply_rows<kRows + kExpertUnit>(rows, shared, ring, sums, stages, thread, issued);
    }
    if constexpr (kPrecise)
      multiply_precise<kRows>(shared, ring, sums, stages, thread, issued);
    else
      multiply<kRows>(shared, ring, sums, stages, thread, issued);
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_EXPERT_PRODUCTS_CUH
