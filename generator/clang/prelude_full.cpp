#include "generator/clang/prelude.h"

namespace tilepost {
namespace {

// This header is included before the first line. nvcc includes some of the C library's headers
// unasked, with host versions of min and max. Clang leaves out some of CUDA's own headers, which
// declare functions. Clang also drops attributes that it does not know. So these attributes become
// annotations, which are in the tree.
constexpr char kUnasked[] = R"(#pragma once
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <cmath>
#include <new>
#include <utility>
#define TILEPOST_MIN_MAX(T) \
  __attribute__((host)) inline T min(T a, T b) { return b < a ? b : a; } \
  __attribute__((host)) inline T max(T a, T b) { return a < b ? b : a; }
TILEPOST_MIN_MAX(int)
TILEPOST_MIN_MAX(unsigned)
TILEPOST_MIN_MAX(long)
TILEPOST_MIN_MAX(unsigned long)
TILEPOST_MIN_MAX(long long)
TILEPOST_MIN_MAX(unsigned long long)
TILEPOST_MIN_MAX(float)
TILEPOST_MIN_MAX(double)
#undef TILEPOST_MIN_MAX
#define TILEPOST_LOAD(name) template <class T> __attribute__((device)) T name(const T*);
#define TILEPOST_STORE(name) template <class T> __attribute__((device)) void name(T*, T);
TILEPOST_LOAD(__ldca)
TILEPOST_LOAD(__ldcg)
TILEPOST_LOAD(__ldcs)
TILEPOST_LOAD(__ldcv)
TILEPOST_LOAD(__ldlu)
TILEPOST_STORE(__stcg)
TILEPOST_STORE(__stcs)
TILEPOST_STORE(__stwb)
TILEPOST_STORE(__stwt)
#undef TILEPOST_LOAD
#undef TILEPOST_STORE
__attribute__((device)) float2 __fmul2_rn(float2, float2);
__attribute__((device)) float2 __fadd2_rn(float2, float2);
__attribute__((device)) float2 __ffma2_rn(float2, float2, float2);
#ifndef __grid_constant__
#define __grid_constant__
#endif
#define _CG_CLUSTER_INTRINSICS_AVAILABLE  // else cooperative_groups.h has clusters for nvcc alone
#undef __cluster_dims__
#undef __block_size__
#undef __maxnreg__
#define __cluster_dims__(...) __attribute__((annotate("cluster_dims", __VA_ARGS__)))
#define __block_size__(...) __attribute__((annotate("block_size", __VA_ARGS__)))
#define __maxnreg__(...) __attribute__((annotate("maxnreg", __VA_ARGS__)))
)";

// The text of headers with intrinsics of CPUs. Only host code uses these, which does not matter
// here.
constexpr char kNothing[] = "#pragma once\n";

constexpr VirtualFile kFullHeaders[] = {
    // CUDA 13 no longer has this header, but Clang 19 includes it.
    {"texture_fetch_functions.h", kNothing},
    {"tilepost_unasked.h", kUnasked},
    {"cpuid.h", kNothing},
    {"emmintrin.h", kNothing},
    {"immintrin.h", kNothing},
    {"nmmintrin.h", kNothing},
    {"omp.h", kNothing},
    {"pmmintrin.h", kNothing},
    {"smmintrin.h", kNothing},
    {"tmmintrin.h", kNothing},
    {"x86intrin.h", kNothing},
    {"xmmintrin.h", kNothing},
};

}  // namespace

llvm::ArrayRef<VirtualFile> added_headers() {
  return kFullHeaders;
}

}  // namespace tilepost
