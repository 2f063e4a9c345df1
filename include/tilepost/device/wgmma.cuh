// Warpgroup matrix multiply of sm_90a: D[64, N] (+)= A[64, 16] * B[16, N], A and B in shared
// memory.
//
// A warpgroup holds D in N / 2 fp32 registers per thread: of every eight columns c, the elements
// (r, c + 2 (l % 4) + {0, 1}) and (r + 8, same), where l is the lane and r = 16 * warp + l / 4.
// Operands are K-major tiles whose rows are 128 bytes with the 128-byte swizzle, as TMA writes
// them.
#ifndef TILEPOST_DEVICE_WGMMA_CUH
#define TILEPOST_DEVICE_WGMMA_CUH

#include <cstdint>

#include "tilepost/mark.cuh"

namespace tilepost::ptx {

// Describes an operand at `address` (PTX ISA, wgmma, Matrix Descriptor Format): bits 0-13 address /
// 16, 16-29 leading byte offset / 16 (unused by this layout), 32-45 stride between groups of eight
// rows / 16 = 1024 / 16, 62-63 swizzle mode, 1 = 128 bytes. Adding 2 moves on by 32 bytes: one step
// of 16 along K. A tile starts at a multiple of 1024 bytes, a warpgroup's part of it at a multiple
// of 64 rows.
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address) {
  constexpr uint64_t kLayout = (uint64_t{1} << 16) | (uint64_t{64} << 32) | (uint64_t{1} << 62);
  return kLayout | ((address & 0x3FFFF) >> 4);
}

// Before the first wgmma, and whenever its registers were touched by other instructions: orders
// those accesses before the asynchronous ones.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Ends the warpgroup's current group of wgmma operations.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all but the newest kPending groups are complete: operands may be overwritten, and
// with kPending 0 the sums may be read.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving accesses to the sums across this point: between wgmma_fence and
// wgmma_wait nothing else may touch them, or ptxas serialises the operations (warnings C7510,
// C7514).
template <int kCount>
__device__ __forceinline__ void pin(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

// Starts d (+)= a * b for descriptors a and b; with `accumulate` false, d is overwritten.
// Asynchronous: wgmma_commit, then wgmma_wait.
template <int kN, DType kType>
__device__ __forceinline__ void wgmma(float (&d)[kN / 2], uint64_t a, uint64_t b, bool accumulate);

// ---- The instructions: one specialisation per width and type

// Operand numbers of the first N / 2 registers, and the registers of the array d.
#define TILEPOST_WGMMA_D64                                           \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"            \
  ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31" \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47" \
  ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define TILEPOST_WGMMA_D96                                           \
  TILEPOST_WGMMA_D64                                                 \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79" \
  ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define TILEPOST_WGMMA_D128                                                      \
  TILEPOST_WGMMA_D96                                                             \
  ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111" \
  ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define TILEPOST_WGMMA_R8(i)                                                                  \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define TILEPOST_WGMMA_R32(i)                                                \
  TILEPOST_WGMMA_R8(i), TILEPOST_WGMMA_R8(i + 8), TILEPOST_WGMMA_R8(i + 16), \
      TILEPOST_WGMMA_R8(i + 24)
#define TILEPOST_WGMMA_R64 TILEPOST_WGMMA_R32(0), TILEPOST_WGMMA_R32(32)
#define TILEPOST_WGMMA_R96 TILEPOST_WGMMA_R64, TILEPOST_WGMMA_R32(64)
#define TILEPOST_WGMMA_R128 TILEPOST_WGMMA_R96, TILEPOST_WGMMA_R32(96)

// A, B and SCALE are the numbers of the operands that follow the registers. The immediates: both
// operands times +1, both K-major.
#define TILEPOST_WGMMA(N, TYPE, REGISTERS, A, B, SCALE, ...)                                      \
  template <>                                                                                     \
  __device__ __forceinline__ void wgmma<N, DType::TYPE>(float(&d)[N / 2], uint64_t a, uint64_t b, \
                                                        bool accumulate) {                        \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " SCALE                                        \
                 ", 0;\n"                                                                         \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." #TYPE "." #TYPE " {" REGISTERS \
                 "}, " A ", " B ", p, 1, 1, 0, 0;\n}"                                             \
                 : __VA_ARGS__                                                                    \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                            \
  }

TILEPOST_WGMMA(128, bf16, TILEPOST_WGMMA_D64, "%64", "%65", "%66", TILEPOST_WGMMA_R64)
TILEPOST_WGMMA(128, f16, TILEPOST_WGMMA_D64, "%64", "%65", "%66", TILEPOST_WGMMA_R64)
TILEPOST_WGMMA(192, bf16, TILEPOST_WGMMA_D96, "%96", "%97", "%98", TILEPOST_WGMMA_R96)
TILEPOST_WGMMA(192, f16, TILEPOST_WGMMA_D96, "%96", "%97", "%98", TILEPOST_WGMMA_R96)
TILEPOST_WGMMA(256, bf16, TILEPOST_WGMMA_D128, "%128", "%129", "%130", TILEPOST_WGMMA_R128)
TILEPOST_WGMMA(256, f16, TILEPOST_WGMMA_D128, "%128", "%129", "%130", TILEPOST_WGMMA_R128)

#undef TILEPOST_WGMMA_D64
#undef TILEPOST_WGMMA_D96
#undef TILEPOST_WGMMA_D128
#undef TILEPOST_WGMMA_R8
#undef TILEPOST_WGMMA_R32
#undef TILEPOST_WGMMA_R64
#undef TILEPOST_WGMMA_R96
#undef TILEPOST_WGMMA_R128
#undef TILEPOST_WGMMA

}  // namespace tilepost::ptx

#endif  // TILEPOST_DEVICE_WGMMA_CUH
