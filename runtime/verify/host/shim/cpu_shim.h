// Runs CUDA C++ kernels on threads of the CPU, to check what a kernel computes where there is no
// GPU. Include this file in front of the kernel's text and compile both as C++20.
//
// A thread of a block is a fibre, and the blocks of a launch run one after the other. The shim
// supports the keywords, blockIdx and similar variables, shared memory, barriers of the block and
// of a warp, shuffles and votes, vector types, and atomics on 32 and 64 bits. It does not support
// asm or tensor cores. Dynamic shared memory is declared by the kernel and defined by the program
// that compiles the kernel, or the kernel gets it from dynamic_shared(). A GPU's memory model
// allows results that the CPU's does not. The shim does not show them.
//
// run_block_in_turn() is faster, for checks of the places to which a kernel stores. There threads
// run one after the other, and read from shared memory what the threads before them left.
#ifndef TILEPOST_CPU_SHIM_H
#define TILEPOST_CPU_SHIM_H

#ifdef __CUDACC__
#error "cpu_shim.h stands in for nvcc; nvcc needs it not"
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/verify/host/shim/fibres.h"

#define __global__
#define __device__
#define __host__
#define __shared__ thread_local
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))

// The alignment of vectors of four. A program that checks where kernels store without that
// alignment defines this macro as empty.
#ifndef TILEPOST_CPU_ALIGN
#define TILEPOST_CPU_ALIGN(n) alignas(n)
#endif

#define TILEPOST_CPU_VECTORS(prefix, T)                                          \
  struct prefix##2 {                                                             \
    T x, y;                                                                      \
  };                                                                             \
  struct prefix##3 {                                                             \
    T x, y, z;                                                                   \
  };                                                                             \
  struct TILEPOST_CPU_ALIGN(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) prefix##4 { \
    T x, y, z, w;                                                                \
  };                                                                             \
  inline prefix##2 make_##prefix##2(T x, T y) {                                  \
    return {x, y};                                                               \
  }                                                                              \
  inline prefix##3 make_##prefix##3(T x, T y, T z) {                             \
    return {x, y, z};                                                            \
  }                                                                              \
  inline prefix##4 make_##prefix##4(T x, T y, T z, T w) {                        \
    return {x, y, z, w};                                                         \
  }
TILEPOST_CPU_VECTORS(char, signed char)
TILEPOST_CPU_VECTORS(uchar, unsigned char)
TILEPOST_CPU_VECTORS(short, short)
TILEPOST_CPU_VECTORS(ushort, unsigned short)
TILEPOST_CPU_VECTORS(int, int)
TILEPOST_CPU_VECTORS(uint, unsigned)
TILEPOST_CPU_VECTORS(float, float)
TILEPOST_CPU_VECTORS(double, double)
#undef TILEPOST_CPU_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

inline thread_local uint3 threadIdx{}, blockIdx{};
inline thread_local dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

using std::max;
using std::min;

namespace tilepost::cpu {

// The state that the threads of the running block share.
struct Block {
  Block(unsigned threads, bool in_turn_, size_t shared_bytes)
      : in_turn(in_turn_),
        values((threads + kWarpSize - 1) / kWarpSize),
        shared(shared_bytes / sizeof(Line) + 1) {}

  struct alignas(128) Line {
    char bytes[128];
  };
  struct alignas(16) Value {
    char bytes[16];
  };
  const bool in_turn;                                // whether threads run one after the other and
                                                     // barriers do not wait
  std::vector<std::array<Value, kWarpSize>> values;  // by warp: the values that its lanes exchange
  std::vector<Line> shared;
};

inline thread_local Block* current_block = nullptr;

inline unsigned thread_in_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

// The dynamic shared memory of the launch.
template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(current_block->shared.data());
}

// From here on, the CPU's thread acts as thread `i` of block `at`.
inline void become(dim3 grid, dim3 block, uint3 at, unsigned i, Block& shared) {
  gridDim = grid;
  blockDim = block;
  blockIdx = at;
  threadIdx = {i % block.x, i / block.x % block.y, i / (block.x * block.y)};
  current_block = &shared;
}

// Runs body() on every thread of a block.
template <class Body>
void run_block(dim3 grid, dim3 block, uint3 at, size_t shared_bytes, const Body& body) {
  const unsigned threads = block.x * block.y * block.z;
  Block shared(threads, false, shared_bytes);
  Fibres::of_thread().run(
      threads, [&](unsigned i) { become(grid, block, at, i, shared); }, [&](unsigned) { body(); });
}

// Runs body() on the threads of a block one after the other, each to its end. No barrier waits.
template <class Body>
void run_block_in_turn(dim3 grid, dim3 block, uint3 at, size_t shared_bytes, const Body& body) {
  const unsigned threads = block.x * block.y * block.z;
  Block shared(threads, true, shared_bytes);
  for (unsigned i = 0; i < threads; ++i) {
    become(grid, block, at, i, shared);
    body();
  }
}

// Runs kernel<<<grid, block, shared_bytes>>>(…). The caller writes launch(grid, block,
// shared_bytes, [&] { kernel(…); }). Returns when all blocks have run.
template <class Body>
void launch(dim3 grid, dim3 block, size_t shared_bytes, const Body& body) {
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x)
        run_block(grid, block, uint3{x, y, z}, shared_bytes, body);
}

}  // namespace tilepost::cpu

#include "runtime/verify/host/shim/warp.h"

inline void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __threadfence_block() {
  __threadfence();
}
inline void __threadfence_system() {
  __threadfence();
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, T value) {
  *to = value;
}
template <class T>
void __stcg(T* to, T value) {
  *to = value;
}
template <class T>
T atomicAdd(T* to, T value) {
  return std::atomic_ref<T>(*to).fetch_add(value);
}
inline float __fmaf_rn(float x, float y, float z) {
  return std::fma(x, y, z);
}
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}
inline int __clz(int bits) {
  return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits));
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}

#endif  // TILEPOST_CPU_SHIM_H
