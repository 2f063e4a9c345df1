// PTX of sm_80 and later: asynchronous copies to shared memory, fragments, the warp-wide mma.
#ifndef TILEPOST_DEVICE_PTX_SM80_CUH
#define TILEPOST_DEVICE_PTX_SM80_CUH

#include <cstdint>

#include "tilepost/mark.cuh"

namespace tilepost::ptx {

// ---- Asynchronous copies (PTX ISA, cp.async)

// Copies kBytes (16, 8 or 4) from global to shared memory if `valid`; else writes zeros and does
// not touch `source`. Both addresses are aligned to kBytes. Copies of sixteen bytes bypass L1,
// which smaller copies cannot.
template <int kBytes>
__device__ __forceinline__ void copy_async(uint32_t destination, const void* source, bool valid) {
  static_assert(kBytes == 16 || kBytes == 8 || kBytes == 4);
  const int source_bytes = valid ? kBytes : 0;
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(destination),
                 "l"(source), "r"(source_bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(destination),
                 "l"(source), "n"(kBytes), "r"(source_bytes)
                 : "memory");
}

// As copy_async of sixteen bytes, if `condition`; else does nothing. The instruction itself is
// conditional. Around many copies with branches of C++ ptxas computes each address anew.
__device__ __forceinline__ void copy_async_if(bool condition, uint32_t destination,
                                              const void* source, bool valid) {
  asm volatile(
      "{ .reg .pred copies; setp.ne.s32 copies, %3, 0;"
      " @copies cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2; }" ::"r"(destination),
      "l"(source), "r"(valid ? 16 : 0), "r"(condition ? 1 : 0)
      : "memory");
}

// Ends the thread's current group of copies, which may be empty.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until all but the newest kPending groups of this thread have arrived. A barrier then makes
// them visible to the block.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Stores sixteen bytes from registers to shared memory.
__device__ __forceinline__ void store_shared(uint32_t destination, const uint32_t (&words)[4]) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(destination), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

// ---- Fragments

// Loads four 8 x 8 matrices of 16-bit elements. Lane l gives the address of one row: of matrix l /
// 8 the row l % 8. Of each matrix it receives two elements of row l / 4, those from 2 (l % 4) on.
__device__ __forceinline__ void load_matrices(uint32_t (&matrices)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(row)
               : "memory");
}

// As load_matrices(), with each matrix transposed: lane l receives two elements of column l / 4,
// those from 2 (l % 4) on.
__device__ __forceinline__ void load_transposed(uint32_t (&matrices)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(row)
               : "memory");
}

// Computes sum[16, 8] = a[16, K] * b[K, 8] + start by one warp. `start` is the sum or, with kFresh,
// zero. K is 32 bytes: 16 elements, or 32 of e4m3 (from sm_89 on). Lane l holds two columns of the
// sum, from 2 (l % 4) on: of row l / 4 in {sum[0], sum[1]} and of row l / 4 + 8 in {sum[2],
// sum[3]}. Of a row of a or a column of b it holds four bytes from byte 4 (l % 4) on, and four more
// 16 bytes further.
template <DType kType, bool kFresh = false>
__device__ __forceinline__ void mma_16x8(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1) {
  static_assert(kType == DType::bf16 || kType == DType::f16 || kType == DType::e4m3,
                "mma_16x8 has no instruction for this type");
  float start[4] = {};
  if constexpr (!kFresh) {
#pragma unroll
    for (int i = 0; i < 4; ++i) start[i] = sum[i];
  }
#define TILEPOST_MMA(shape, type)                                                             \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type                        \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"     \
               : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(start[0]), \
                 "f"(start[1]), "f"(start[2]), "f"(start[3]))
  if constexpr (kType == DType::bf16)
    TILEPOST_MMA("m16n8k16", "bf16");
  else if constexpr (kType == DType::f16)
    TILEPOST_MMA("m16n8k16", "f16");
  else
    TILEPOST_MMA("m16n8k32", "e4m3");
#undef TILEPOST_MMA
}

}  // namespace tilepost::ptx

#endif  // TILEPOST_DEVICE_PTX_SM80_CUH
