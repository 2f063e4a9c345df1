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
// copied rows of A (token_rows.cuh). `Shared` is as for Products (products.cuh).
template <int kBlocks, int kBlockStep, int kMost, int kStages, bool kNN, bool kPrecise,
          DType kElement, bool kCopied>
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

  // Starts the multiplication of a stage, as one group of wgmma. `fresh`: these are the first
  // products of the sums. kApart: how many sums a block of them has room for.
  template <int kRows, int kApart, class Shared>
  static __device__ __forceinline__ void multiply_stage(const Shared& shared, int stage,
                                                        float (&sums)[kBlocks * kApart],
                                                        bool fresh) {
    ptx::pin(sums);
    ptx::wgmma_fence();
    const uint64_t y = ptx::matrix_descriptor(shared.a(stage));
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const uint64_t x = ptx::matrix_descriptor(shared.b(stage) + block * kBlockStep * kRowBytes);
#pragma unroll
      for (int step = 0; step < kSteps; ++step)
        ptx::wgmma<kRows, kElement, false, kNN>(
            *reinterpret_cast<float(*)[kRows / 2]>(sums + block * kApart),
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
      multiply_stage<kRows, kBlockSums>(shared, ring.index, sums, i == 0);
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

  template <int kRows, class Shared, class Issued>
  static __device__ __forceinline__ void multiply_precise(const Shared& shared, Ring<kStages>& ring,
                                                          Sums& sums, int stages, int thread,
                                                          const Issued& issued) {
#pragma unroll
    for (int i = 0; i < kBlocks * kBlockSums; ++i) sums[i] = 0;
#pragma unroll 1
    for (int i = 0; i < stages; ++i) {
      // No more registers than these products need: with those of kMost rows ptxas serialised wgmma
      // where an epilogue follows (C7511).
      constexpr int kProducts = kRows / 2;
      float products[kBlocks * kProducts];
      await_full(shared, ring);
      multiply_stage<kRows, kProducts>(shared, ring.index, products, true);
      if (i == stages - 1) issued();
      ptx::wgmma_wait<0>();
      ptx::pin(products);
      shared.release(ring.index, thread);
      ring.advance();
#pragma unroll
      for (int block = 0; block < kBlocks; ++block)
#pragma unroll
        for (int sum = 0; sum < kProducts; ++sum)
          sums[block * kBlockSums + sum] += products[block * kProducts + sum];
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
