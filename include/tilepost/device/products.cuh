// The main loop of gemm_sm90: a warpgroup multiplies its part of a tile, stage by stage.
#ifndef TILEPOST_DEVICE_PRODUCTS_CUH
#define TILEPOST_DEVICE_PRODUCTS_CUH

#include <cstdint>

#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/ring.cuh"
#include "tilepost/device/wgmma.cuh"
#include "tilepost/mark.cuh"

namespace tilepost {

// A consumer (a warpgroup that multiplies) has kBlocks blocks of 64 rows and kWidth columns. A
// thread holds kWidth / 2 sums of each block. A consumer's part of a tile begins kStep rows behind
// that of the consumer before. The rows are those of the divided operand, and the columns those of
// the wide one: A and B, or with kSwap B and A. In a stage both operands have rows of 128 bytes.
// `Shared` says where the operands lie (a, b) and has the barriers of the stages (stages).
// `Consumer` has the warpgroup's number, the thread's number in it, and the mates to which stages
// are released.
template <int kBlocks, int kWidth, int kParts, int kStep, int kStages, bool kSwap, bool kNN,
          DType kElement>
struct Products {
  static constexpr int kSums = kWidth / 2;
  static constexpr int kBlock = 64;  // rows of one wgmma
  static constexpr int kRowBytes = 128;
  static constexpr int kSteps = 4;      // wgmmas along a row: 32 bytes each
  using Sums = float[kBlocks * kSums];  // block by block

  // Starts the multiplication of a stage as kGroups groups of wgmma: one group for all blocks, or
  // one for each block. `fresh`: these are the first products of the sums.
  template <int kGroups, class Shared>
  static __device__ __forceinline__ void multiply_stage(const Shared& shared, int stage, Sums& sums,
                                                        int consumer, bool fresh) {
    constexpr bool kDividedN = kSwap && kNN, kWideN = !kSwap && kNN;  // whether N-major
    constexpr int kWideStep =
        kWideN ? kRowBytes : 2;  // of the descriptor, from one wgmma to the next
    const uint32_t divided = kSwap ? shared.b(stage) : shared.a(stage);
    const uint32_t wide = kSwap ? shared.a(stage) : shared.b(stage);
    ptx::pin(sums);
    ptx::wgmma_fence();
    const uint64_t y = kWideN ? ptx::matrix_descriptor_n_major(wide) : ptx::matrix_descriptor(wide);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const uint64_t x =
          ptx::matrix_descriptor(divided + (consumer * kStep + block * kBlock) * kRowBytes);
#pragma unroll
      for (int step = 0; step < kSteps; ++step)
        ptx::wgmma<kWidth, kElement, kWideN, kDividedN>(ptx::sums_at<kSums>(sums, block),
                                                        x + ptx::kStepOfA<kDividedN> * step,
                                                        y + kWideStep * step, !fresh || step != 0);
      if (kGroups > 1 || block == kBlocks - 1) ptx::wgmma_commit();
    }
    ptx::pin(sums);
  }

  // Multiplies a consumer's part of one tile. Leaves the products of the last stage under way, as
  // kParts groups, and returns that stage. One stage is still being multiplied while the next is
  // issued. A stage is released when the one after it has been issued.
  template <class Shared, class Consumer>
  static __device__ __forceinline__ int multiply_tile(const Shared& shared, Ring<kStages>& ring,
                                                      Sums& sums, int stages,
                                                      const Consumer& consumer) {
    const int whole = kParts == 1 ? stages : stages - 1;
    int previous = -1;
#pragma unroll 4
    for (int i = 0; i < whole; ++i) {
      ptx::wait_barrier(shared.stages().full(ring.index), ring.parity);
      multiply_stage<1>(shared, ring.index, sums, consumer.number, i == 0);
      ptx::wgmma_wait<1>();
      if (previous >= 0) shared.stages().release(previous, consumer.thread, consumer.mates);
      previous = ring.index;
      ring.advance();
    }
    if constexpr (kParts > 1) {
      ptx::wait_barrier(shared.stages().full(ring.index), ring.parity);
      multiply_stage<kParts>(shared, ring.index, sums, consumer.number, stages == 1);
      ptx::wgmma_wait<kParts>();
      if (previous >= 0) shared.stages().release(previous, consumer.thread, consumer.mates);
      previous = ring.index;
      ring.advance();
    }
    return previous;
  }

  // As multiply_tile(), with the sums of each stage added in fp32, because the tensor cores keep
  // only about 14 bits of the sums of 8-bit elements.
  template <class Shared, class Consumer>
  static __device__ __forceinline__ int multiply_tile_precise(const Shared& shared,
                                                              Ring<kStages>& ring, Sums& sums,
                                                              int stages,
                                                              const Consumer& consumer) {
    int last = 0;
#pragma unroll
    for (int i = 0; i < kBlocks * kSums; ++i) sums[i] = 0;
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage) {
      Sums products;
      ptx::wait_barrier(shared.stages().full(ring.index), ring.parity);
      multiply_stage<1>(shared, ring.index, products, consumer.number, true);
      ptx::wgmma_wait<0>();
      ptx::pin(products);
      if (stage < stages - 1) shared.stages().release(ring.index, consumer.thread, consumer.mates);
      last = ring.index;
      ring.advance();
#pragma unroll
      for (int i = 0; i < kBlocks * kSums; ++i) sums[i] += products[i];
    }
    return last;
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_PRODUCTS_CUH
