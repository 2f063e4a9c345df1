#include "generator/clang/prelude.h"

namespace tilepost {
namespace {

// Attributes that only nvcc knows become annotations, which keep their arguments in the tree: the
// kernel reaches what the arguments name.
constexpr char kPrelude[] = R"(
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 13000
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __grid_constant__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) __attribute__((annotate("cluster_dims", __VA_ARGS__)))
#define __maxnreg__(...) __attribute__((annotate("maxnreg", __VA_ARGS__)))
#define __block_size__(...) __attribute__((annotate("block_size", __VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __inline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict

typedef __SIZE_TYPE__ size_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define TILEPOST_VECTOR1(name, T, bytes) struct __align__(bytes) name { T x; };
#define TILEPOST_VECTOR2(name, T, bytes) struct __align__(bytes) name { T x, y; };
#define TILEPOST_VECTOR3(name, T) struct name { T x, y, z; };
#define TILEPOST_VECTOR4(name, T, bytes) struct __align__(bytes) name { T x, y, z, w; };
#define TILEPOST_VECTORS(prefix, T, bytes, largest) \
  TILEPOST_VECTOR1(prefix##1, T, bytes) TILEPOST_VECTOR2(prefix##2, T, 2 * bytes) \
  TILEPOST_VECTOR3(prefix##3, T) TILEPOST_VECTOR4(prefix##4, T, largest) \
  __host__ __device__ prefix##1 make_##prefix##1(T); \
  __host__ __device__ prefix##2 make_##prefix##2(T, T); \
  __host__ __device__ prefix##3 make_##prefix##3(T, T, T); \
  __host__ __device__ prefix##4 make_##prefix##4(T, T, T, T);
TILEPOST_VECTORS(char, signed char, 1, 4)
TILEPOST_VECTORS(uchar, unsigned char, 1, 4)
TILEPOST_VECTORS(short, short, 2, 8)
TILEPOST_VECTORS(ushort, unsigned short, 2, 8)
TILEPOST_VECTORS(int, int, 4, 16)
TILEPOST_VECTORS(uint, unsigned, 4, 16)
TILEPOST_VECTORS(longlong, long long, 8, 16)
TILEPOST_VECTORS(ulonglong, unsigned long long, 8, 16)
TILEPOST_VECTORS(float, float, 4, 16)
TILEPOST_VECTORS(double, double, 8, 16)
#undef TILEPOST_VECTORS
#undef TILEPOST_VECTOR1
#undef TILEPOST_VECTOR2
#undef TILEPOST_VECTOR3
#undef TILEPOST_VECTOR4

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};
extern const __device__ uint3 threadIdx, blockIdx;
extern const __device__ dim3 blockDim, gridDim;
extern const __device__ int warpSize;

typedef struct CUstream_st* cudaStream_t;
extern "C" int cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = nullptr);

extern "C" {
__device__ void __syncthreads();
__device__ int __syncthreads_count(int);
__device__ int __syncthreads_and(int);
__device__ int __syncthreads_or(int);
__device__ void __syncwarp(unsigned = 0xffffffffu);
__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ void __threadfence_system();
__device__ void __nanosleep(unsigned);
__device__ void __trap();
__device__ void __brkpt();
__device__ long clock();
__device__ long long clock64();
__device__ unsigned long long globaltimer();
__device__ unsigned __activemask();
__device__ unsigned __ballot_sync(unsigned, int);
__device__ int __all_sync(unsigned, int);
__device__ int __any_sync(unsigned, int);
__device__ int __uni_sync(unsigned, int);
__device__ unsigned __reduce_add_sync(unsigned, unsigned);
__device__ unsigned __reduce_min_sync(unsigned, unsigned);
__device__ unsigned __reduce_max_sync(unsigned, unsigned);
__device__ int __popc(unsigned);
__device__ int __clz(int);
__device__ int __ffs(int);
__device__ int __brev(unsigned);
__device__ int __mul24(int, int);
__device__ int __mulhi(int, int);
__device__ unsigned __umulhi(unsigned, unsigned);
__device__ unsigned __byte_perm(unsigned, unsigned, unsigned);
__device__ unsigned __float_as_uint(float);
__device__ int __float_as_int(float);
__device__ float __uint_as_float(unsigned);
__device__ float __int_as_float(int);
__device__ float __fmaf_rn(float, float, float);
__device__ float __fdividef(float, float);
__device__ float __expf(float);
__device__ float __logf(float);
__device__ float rsqrtf(float);
__host__ __device__ float fmaf(float, float, float);
__host__ __device__ float sqrtf(float);
__host__ __device__ float fabsf(float);
__host__ __device__ float fminf(float, float);
__host__ __device__ float fmaxf(float, float);
__host__ __device__ float erff(float);
__host__ __device__ float expf(float);
__host__ __device__ float tanhf(float);
__device__ size_t __cvta_generic_to_shared(const void*);
__device__ size_t __cvta_generic_to_global(const void*);
__device__ size_t __cvta_generic_to_constant(const void*);
__device__ void* __cvta_shared_to_generic(size_t);
__device__ void* __cvta_global_to_generic(size_t);
__device__ unsigned __isShared(const void*);
__device__ unsigned __isGlobal(const void*);
__host__ __device__ void* memcpy(void*, const void*, size_t);
__host__ __device__ void* memset(void*, int, size_t);
__host__ __device__ int printf(const char*, ...);
__device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
}
template <class T> __device__ T __shfl_sync(unsigned, T, int, int = 32);
template <class T> __device__ T __shfl_up_sync(unsigned, T, unsigned, int = 32);
template <class T> __device__ T __shfl_down_sync(unsigned, T, unsigned, int = 32);
template <class T> __device__ T __shfl_xor_sync(unsigned, T, int, int = 32);
template <class T> __device__ unsigned __match_any_sync(unsigned, T);
template <class T> __device__ T __ldg(const T*);
template <class T> __device__ T __ldca(const T*);
template <class T> __device__ T __ldcg(const T*);
template <class T> __device__ T __ldcs(const T*);
template <class T> __device__ T __ldcv(const T*);
template <class T> __device__ T __ldlu(const T*);
template <class T> __device__ void __stcg(T*, T);
template <class T> __device__ void __stcs(T*, T);
template <class T> __device__ void __stwb(T*, T);
template <class T> __device__ void __stwt(T*, T);
template <class T> __device__ T atomicAdd(T*, T);
template <class T> __device__ T atomicSub(T*, T);
template <class T> __device__ T atomicExch(T*, T);
template <class T> __device__ T atomicMin(T*, T);
template <class T> __device__ T atomicMax(T*, T);
template <class T> __device__ T atomicOr(T*, T);
template <class T> __device__ T atomicAnd(T*, T);
template <class T> __device__ T atomicCAS(T*, T, T);
template <class T> __host__ __device__ constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr T max(T a, T b) { return a < b ? b : a; }
)";

}  // namespace

llvm::StringRef cuda_prelude() {
  return {kPrelude, sizeof(kPrelude) - 1};
}

}  // namespace tilepost
