// Warpgroup matrix multiply of sm_90a: D[64, N] (+)= A[64, K] * B[K, N]. A and B are in shared
// memory. K is 16 elements of 16 bits or 32 of 8 bits.
//
// A warpgroup holds D in N / 2 fp32 registers per thread. Of every eight columns from column c on,
// a thread holds the elements (r, c + 2 (l % 4) + {0, 1}) and (r + 8, the same columns), where l is
// the lane and r = 16 * warp + l / 4. Operands are tiles whose rows are 128 bytes with the 128-byte
// swizzle, as TMA writes them. They are K-major; with 16-bit elements A may be M-major, or B
// N-major.
#ifndef TILEPOST_DEVICE_WGMMA_CUH
#define TILEPOST_DEVICE_WGMMA_CUH

#include <cstdint>

#include "tilepost/device/fast_wgmma.cuh"
#include "tilepost/mark.cuh"

namespace tilepost::ptx {

// Describes an operand at `address` (PTX ISA, wgmma, Matrix Descriptor Format). Bits 0-13 are
// address / 16, bits 16-29 the leading byte offset / 16 (unused by this layout), bits 32-45 the
// stride between groups of eight rows / 16 = 1024 / 16, and bits 62-63 the swizzle mode, where 1
// means 128 bytes. Adding 2 to the descriptor moves on by 32 bytes: one step along K, 16 elements
// of 16 bits or 32 of 8 bits. A tile starts at a multiple of 1024 bytes, and a warpgroup's part of
// it at a multiple of 64 rows.
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address) {
  constexpr uint64_t kLayout = (uint64_t{1} << 16) | (uint64_t{64} << 32) | (uint64_t{1} << 62);
  return kLayout | ((address & 0x3FFFF) >> 4);
}

// Describes an N-major B of 16-bit elements, which lies in slabs of 64 columns. A slab has 64 rows,
// one for each element of K, of 128 bytes each. The leading byte offset is the distance between
// slabs, 64 rows. The stride is the distance between groups of eight rows. Adding 128 to the
// descriptor moves on by sixteen rows: one step along K.
__device__ __forceinline__ uint64_t matrix_descriptor_n_major(uint32_t address) {
  constexpr uint64_t kLayout =
      (uint64_t{64 * 128 / 16} << 16) | (uint64_t{64} << 32) | (uint64_t{1} << 62);
  return kLayout | ((address & 0x3FFFF) >> 4);
}

// How far the descriptor of A moves on for one step along K. An M-major A has one row of 64
// elements of M for every k. With one such row along M the leading byte offset is not used, and the
// stride is that of a K-major tile, between groups of eight rows. So matrix_descriptor describes it
// too.
template <bool kMMajor>
inline constexpr uint64_t kStepOfA = kMMajor ? 16 * 128 / 16 : 2;

// Orders earlier accesses to the registers of a wgmma before the asynchronous ones. Needed before
// the first wgmma, and whenever other instructions have touched its registers.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Ends the warpgroup's current group of wgmma operations.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all but the newest kPending groups are complete. The operands of the complete groups
// may then be overwritten. With kPending 0 the sums may be read.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving accesses to the sums across this point. Between wgmma_fence and
// wgmma_wait nothing else may touch the sums, or ptxas serialises the operations (warnings C7510,
// C7514).
template <int kCount>
__device__ __forceinline__ void pin(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

// The index-th block of kCount of a thread's sums.
template <int kCount, int kAll>
__device__ __forceinline__ float (&sums_at(float (&sums)[kAll], int index))[kCount] {
  return *reinterpret_cast<float(*)[kCount]>(sums + index * kCount);
}

// Starts d (+)= a * b for descriptors a and b; if `accumulate` is false, d is overwritten. kNMajor:
// b is N-major. kMMajor: a is M-major. The operation is asynchronous: wgmma_commit and then
// wgmma_wait complete it.
template <int kN, DType kType, bool kNMajor, bool kMMajor = false>
__device__ __forceinline__ void wgmma(float (&d)[kN / 2], uint64_t a, uint64_t b, bool accumulate);

// ---- The instructions: one specialisation per width, type and order of the operands

// Operand numbers of the first N / 2 registers, and the registers of the array d.
#define TILEPOST_WGMMA_D4 "%0,%1,%2,%3"
#define TILEPOST_WGMMA_D8 TILEPOST_WGMMA_D4 ",%4,%5,%6,%7"
#define TILEPOST_WGMMA_D16 TILEPOST_WGMMA_D8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define TILEPOST_WGMMA_D20 TILEPOST_WGMMA_D16 ",%16,%17,%18,%19"
#define TILEPOST_WGMMA_D24 TILEPOST_WGMMA_D16 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define TILEPOST_WGMMA_D28 TILEPOST_WGMMA_D24 ",%24,%25,%26,%27"
#define TILEPOST_WGMMA_D32 TILEPOST_WGMMA_D24 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define TILEPOST_WGMMA_D36 TILEPOST_WGMMA_D32 ",%32,%33,%34,%35"
#define TILEPOST_WGMMA_D40 TILEPOST_WGMMA_D32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define TILEPOST_WGMMA_D44 TILEPOST_WGMMA_D40 ",%40,%41,%42,%43"
#define TILEPOST_WGMMA_D48 TILEPOST_WGMMA_D40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define TILEPOST_WGMMA_D52 TILEPOST_WGMMA_D48 ",%48,%49,%50,%51"
#define TILEPOST_WGMMA_D56 TILEPOST_WGMMA_D48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define TILEPOST_WGMMA_D60 TILEPOST_WGMMA_D56 ",%56,%57,%58,%59"
#define TILEPOST_WGMMA_D64 TILEPOST_WGMMA_D56 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define TILEPOST_WGMMA_D68 TILEPOST_WGMMA_D64 ",%64,%65,%66,%67"
#define TILEPOST_WGMMA_D72 TILEPOST_WGMMA_D64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define TILEPOST_WGMMA_D76 TILEPOST_WGMMA_D72 ",%72,%73,%74,%75"
#define TILEPOST_WGMMA_D80 TILEPOST_WGMMA_D72 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define TILEPOST_WGMMA_D84 TILEPOST_WGMMA_D80 ",%80,%81,%82,%83"
#define TILEPOST_WGMMA_D88 TILEPOST_WGMMA_D80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define TILEPOST_WGMMA_D92 TILEPOST_WGMMA_D88 ",%88,%89,%90,%91"
#define TILEPOST_WGMMA_D96 TILEPOST_WGMMA_D88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define TILEPOST_WGMMA_D100 TILEPOST_WGMMA_D96 ",%96,%97,%98,%99"
#define TILEPOST_WGMMA_D104 TILEPOST_WGMMA_D96 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define TILEPOST_WGMMA_D108 TILEPOST_WGMMA_D104 ",%104,%105,%106,%107"
#define TILEPOST_WGMMA_D112 TILEPOST_WGMMA_D104 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define TILEPOST_WGMMA_D116 TILEPOST_WGMMA_D112 ",%112,%113,%114,%115"
#define TILEPOST_WGMMA_D120 TILEPOST_WGMMA_D112 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define TILEPOST_WGMMA_D124 TILEPOST_WGMMA_D120 ",%120,%121,%122,%123"
#define TILEPOST_WGMMA_D128 TILEPOST_WGMMA_D120 ",%120,%121,%122,%123,%124,%125,%126,%127"
#define TILEPOST_WGMMA_R4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TILEPOST_WGMMA_R8(i) TILEPOST_WGMMA_R4(i), TILEPOST_WGMMA_R4(i + 4)
#define TILEPOST_WGMMA_R16 TILEPOST_WGMMA_R8(0), TILEPOST_WGMMA_R8(8)
#define TILEPOST_WGMMA_R20 TILEPOST_WGMMA_R16, TILEPOST_WGMMA_R4(16)
#define TILEPOST_WGMMA_R24 TILEPOST_WGMMA_R16, TILEPOST_WGMMA_R8(16)
#define TILEPOST_WGMMA_R28 TILEPOST_WGMMA_R24, TILEPOST_WGMMA_R4(24)
#define TILEPOST_WGMMA_R32 TILEPOST_WGMMA_R24, TILEPOST_WGMMA_R8(24)
#define TILEPOST_WGMMA_R36 TILEPOST_WGMMA_R32, TILEPOST_WGMMA_R4(32)
#define TILEPOST_WGMMA_R40 TILEPOST_WGMMA_R32, TILEPOST_WGMMA_R8(32)
#define TILEPOST_WGMMA_R44 TILEPOST_WGMMA_R40, TILEPOST_WGMMA_R4(40)
#define TILEPOST_WGMMA_R48 TILEPOST_WGMMA_R40, TILEPOST_WGMMA_R8(40)
#define TILEPOST_WGMMA_R52 TILEPOST_WGMMA_R48, TILEPOST_WGMMA_R4(48)
#define TILEPOST_WGMMA_R56 TILEPOST_WGMMA_R48, TILEPOST_WGMMA_R8(48)
#define TILEPOST_WGMMA_R60 TILEPOST_WGMMA_R56, TILEPOST_WGMMA_R4(56)
#define TILEPOST_WGMMA_R64 TILEPOST_WGMMA_R56, TILEPOST_WGMMA_R8(56)
#define TILEPOST_WGMMA_R68 TILEPOST_WGMMA_R64, TILEPOST_WGMMA_R4(64)
#define TILEPOST_WGMMA_R72 TILEPOST_WGMMA_R64, TILEPOST_WGMMA_R8(64)
#define TILEPOST_WGMMA_R76 TILEPOST_WGMMA_R72, TILEPOST_WGMMA_R4(72)
#define TILEPOST_WGMMA_R80 TILEPOST_WGMMA_R72, TILEPOST_WGMMA_R8(72)
#define TILEPOST_WGMMA_R84 TILEPOST_WGMMA_R80, TILEPOST_WGMMA_R4(80)
#define TILEPOST_WGMMA_R88 TILEPOST_WGMMA_R80, TILEPOST_WGMMA_R8(80)
#define TILEPOST_WGMMA_R92 TILEPOST_WGMMA_R88, TILEPOST_WGMMA_R4(88)
#define TILEPOST_WGMMA_R96 TILEPOST_WGMMA_R88, TILEPOST_WGMMA_R8(88)
#define TILEPOST_WGMMA_R100 TILEPOST_WGMMA_R96, TILEPOST_WGMMA_R4(96)
#define TILEPOST_WGMMA_R104 TILEPOST_WGMMA_R96, TILEPOST_WGMMA_R8(96)
#define TILEPOST_WGMMA_R108 TILEPOST_WGMMA_R104, TILEPOST_WGMMA_R4(104)
#define TILEPOST_WGMMA_R112 TILEPOST_WGMMA_R104, TILEPOST_WGMMA_R8(104)
#define TILEPOST_WGMMA_R116 TILEPOST_WGMMA_R112, TILEPOST_WGMMA_R4(112)
#define TILEPOST_WGMMA_R120 TILEPOST_WGMMA_R112, TILEPOST_WGMMA_R8(112)
#define TILEPOST_WGMMA_R124 TILEPOST_WGMMA_R120, TILEPOST_WGMMA_R4(120)
#define TILEPOST_WGMMA_R128 TILEPOST_WGMMA_R120, TILEPOST_WGMMA_R8(120)

// A, B and SCALE are the numbers of the operands that follow the registers. The immediates say that
// both operands are multiplied by +1; for 16-bit types they also say whether A and B are K-major
// (0) or not (1).
#define TILEPOST_WGMMA(N, TYPE, N_MAJOR, M_MAJOR, SHAPE, IMMEDIATES, REGISTERS, A, B, SCALE, ...) \
  template <>                                                                                     \
  __device__ __forceinline__ void wgmma<N, DType::TYPE, N_MAJOR, M_MAJOR>(                        \
      float(&d)[N / 2], uint64_t a, uint64_t b, bool accumulate) {                                \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " SCALE                                        \
                 ", 0;\n"                                                                         \
                 "wgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" REGISTERS "}, " A ", " B       \
                 ", p, " IMMEDIATES ";\n}"                                                        \
                 : __VA_ARGS__                                                                    \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                            \
  }
#define TILEPOST_WGMMA_TYPES(N, ...)                                                    \
  TILEPOST_WGMMA(N, bf16, false, false, "k16.f32.bf16.bf16", "1, 1, 0, 0", __VA_ARGS__) \
  TILEPOST_WGMMA(N, bf16, true, false, "k16.f32.bf16.bf16", "1, 1, 0, 1", __VA_ARGS__)  \
  TILEPOST_WGMMA(N, bf16, false, true, "k16.f32.bf16.bf16", "1, 1, 1, 0", __VA_ARGS__)  \
  TILEPOST_WGMMA(N, f16, false, false, "k16.f32.f16.f16", "1, 1, 0, 0", __VA_ARGS__)    \
  TILEPOST_WGMMA(N, f16, true, false, "k16.f32.f16.f16", "1, 1, 0, 1", __VA_ARGS__)     \
  TILEPOST_WGMMA(N, f16, false, true, "k16.f32.f16.f16", "1, 1, 1, 0", __VA_ARGS__)     \
  TILEPOST_WGMMA(N, e4m3, false, false, "k32.f32.e4m3.e4m3", "1, 1", __VA_ARGS__)

TILEPOST_WGMMA_TYPES(8, TILEPOST_WGMMA_D4, "%4", "%5", "%6", TILEPOST_WGMMA_R4(0))
TILEPOST_WGMMA_TYPES(16, TILEPOST_WGMMA_D8, "%8", "%9", "%10", TILEPOST_WGMMA_R8(0))
TILEPOST_WGMMA_TYPES(32, TILEPOST_WGMMA_D16, "%16", "%17", "%18", TILEPOST_WGMMA_R16)
TILEPOST_WGMMA_TYPES(40, TILEPOST_WGMMA_D20, "%20", "%21", "%22", TILEPOST_WGMMA_R20)
TILEPOST_WGMMA_TYPES(48, TILEPOST_WGMMA_D24, "%24", "%25", "%26", TILEPOST_WGMMA_R24)
TILEPOST_WGMMA_TYPES(56, TILEPOST_WGMMA_D28, "%28", "%29", "%30", TILEPOST_WGMMA_R28)
TILEPOST_WGMMA_TYPES(64, TILEPOST_WGMMA_D32, "%32", "%33", "%34", TILEPOST_WGMMA_R32)
TILEPOST_WGMMA_TYPES(72, TILEPOST_WGMMA_D36, "%36", "%37", "%38", TILEPOST_WGMMA_R36)
TILEPOST_WGMMA_TYPES(80, TILEPOST_WGMMA_D40, "%40", "%41", "%42", TILEPOST_WGMMA_R40)
TILEPOST_WGMMA_TYPES(88, TILEPOST_WGMMA_D44, "%44", "%45", "%46", TILEPOST_WGMMA_R44)
TILEPOST_WGMMA_TYPES(96, TILEPOST_WGMMA_D48, "%48", "%49", "%50", TILEPOST_WGMMA_R48)
TILEPOST_WGMMA_TYPES(104, TILEPOST_WGMMA_D52, "%52", "%53", "%54", TILEPOST_WGMMA_R52)
TILEPOST_WGMMA_TYPES(112, TILEPOST_WGMMA_D56, "%56", "%57", "%58", TILEPOST_WGMMA_R56)
TILEPOST_WGMMA_TYPES(120, TILEPOST_WGMMA_D60, "%60", "%61", "%62", TILEPOST_WGMMA_R60)
TILEPOST_WGMMA_TYPES(128, TILEPOST_WGMMA_D64, "%64", "%65", "%66", TILEPOST_WGMMA_R64)
TILEPOST_WGMMA_TYPES(136, TILEPOST_WGMMA_D68, "%68", "%69", "%70", TILEPOST_WGMMA_R68)
TILEPOST_WGMMA_TYPES(144, TILEPOST_WGMMA_D72, "%72", "%73", "%74", TILEPOST_WGMMA_R72)
TILEPOST_WGMMA_TYPES(152, TILEPOST_WGMMA_D76, "%76", "%77", "%78", TILEPOST_WGMMA_R76)
TILEPOST_WGMMA_TYPES(160, TILEPOST_WGMMA_D80, "%80", "%81", "%82", TILEPOST_WGMMA_R80)
TILEPOST_WGMMA_TYPES(168, TILEPOST_WGMMA_D84, "%84", "%85", "%86", TILEPOST_WGMMA_R84)
TILEPOST_WGMMA_TYPES(176, TILEPOST_WGMMA_D88, "%88", "%89", "%90", TILEPOST_WGMMA_R88)
TILEPOST_WGMMA_TYPES(184, TILEPOST_WGMMA_D92, "%92", "%93", "%94", TILEPOST_WGMMA_R92)
TILEPOST_WGMMA_TYPES(192, TILEPOST_WGMMA_D96, "%96", "%97", "%98", TILEPOST_WGMMA_R96)
TILEPOST_WGMMA_TYPES(200, TILEPOST_WGMMA_D100, "%100", "%101", "%102", TILEPOST_WGMMA_R100)
TILEPOST_WGMMA_TYPES(208, TILEPOST_WGMMA_D104, "%104", "%105", "%106", TILEPOST_WGMMA_R104)
TILEPOST_WGMMA_TYPES(216, TILEPOST_WGMMA_D108, "%108", "%109", "%110", TILEPOST_WGMMA_R108)
TILEPOST_WGMMA_TYPES(224, TILEPOST_WGMMA_D112, "%112", "%113", "%114", TILEPOST_WGMMA_R112)
TILEPOST_WGMMA_TYPES(232, TILEPOST_WGMMA_D116, "%116", "%117", "%118", TILEPOST_WGMMA_R116)
TILEPOST_WGMMA_TYPES(240, TILEPOST_WGMMA_D120, "%120", "%121", "%122", TILEPOST_WGMMA_R120)
TILEPOST_WGMMA_TYPES(248, TILEPOST_WGMMA_D124, "%124", "%125", "%126", TILEPOST_WGMMA_R124)
TILEPOST_WGMMA_TYPES(256, TILEPOST_WGMMA_D128, "%128", "%129", "%130", TILEPOST_WGMMA_R128)

#undef TILEPOST_WGMMA_TYPES
#undef TILEPOST_WGMMA
#undef TILEPOST_WGMMA_R128
#undef TILEPOST_WGMMA_R124
#undef TILEPOST_WGMMA_R120
#undef TILEPOST_WGMMA_R116
#undef TILEPOST_WGMMA_R112
#undef TILEPOST_WGMMA_R108
#undef TILEPOST_WGMMA_R104
#undef TILEPOST_WGMMA_R100
#undef TILEPOST_WGMMA_R96
#undef TILEPOST_WGMMA_R92
#undef TILEPOST_WGMMA_R88
#undef TILEPOST_WGMMA_R84
#undef TILEPOST_WGMMA_R80
#undef TILEPOST_WGMMA_R76
#undef TILEPOST_WGMMA_R72
#undef TILEPOST_WGMMA_R68
#undef TILEPOST_WGMMA_R64
#undef TILEPOST_WGMMA_R60
#undef TILEPOST_WGMMA_R56
#undef TILEPOST_WGMMA_R52
#undef TILEPOST_WGMMA_R48
#undef TILEPOST_WGMMA_R44
#undef TILEPOST_WGMMA_R40
#undef TILEPOST_WGMMA_R36
#undef TILEPOST_WGMMA_R32
#undef TILEPOST_WGMMA_R28
#undef TILEPOST_WGMMA_R24
#undef TILEPOST_WGMMA_R20
#undef TILEPOST_WGMMA_R16
#undef TILEPOST_WGMMA_R8
#undef TILEPOST_WGMMA_R4
#undef TILEPOST_WGMMA_D128
#undef TILEPOST_WGMMA_D124
#undef TILEPOST_WGMMA_D120
#undef TILEPOST_WGMMA_D116
#undef TILEPOST_WGMMA_D112
#undef TILEPOST_WGMMA_D108
#undef TILEPOST_WGMMA_D104
#undef TILEPOST_WGMMA_D100
#undef TILEPOST_WGMMA_D96
#undef TILEPOST_WGMMA_D92
#undef TILEPOST_WGMMA_D88
#undef TILEPOST_WGMMA_D84
#undef TILEPOST_WGMMA_D80
#undef TILEPOST_WGMMA_D76
#undef TILEPOST_WGMMA_D72
#undef TILEPOST_WGMMA_D68
#undef TILEPOST_WGMMA_D64
#undef TILEPOST_WGMMA_D60
#undef TILEPOST_WGMMA_D56
#undef TILEPOST_WGMMA_D52
#undef TILEPOST_WGMMA_D48
#undef TILEPOST_WGMMA_D44
#undef TILEPOST_WGMMA_D40
#undef TILEPOST_WGMMA_D36
#undef TILEPOST_WGMMA_D32
#undef TILEPOST_WGMMA_D28
#undef TILEPOST_WGMMA_D24
#undef TILEPOST_WGMMA_D20
#undef TILEPOST_WGMMA_D16
#undef TILEPOST_WGMMA_D8
#undef TILEPOST_WGMMA_D4

}  // namespace tilepost::ptx

#endif  // TILEPOST_DEVICE_WGMMA_CUH
