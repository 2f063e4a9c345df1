// The CUDA templates un-woven: how a test configures, describes and launches them.
//
// A template is included in a namespace of its own, with another meaning of tilepost::tunable that
// reads the configuration from a string:
//
//   #define tunable(name, fallback) configured(CONFIG, name, fallback)
//   #define CONFIG "TILE_M=256 STAGES=3"
//   namespace sm80_256x128 {
//   #include "templates/gemm_sm80.cu"
//   }
//   #undef CONFIG
//   #undef tunable
//   const plain::Kernel kKernel = TILEPOST_SM80(sm80_256x128, false);
//
// With TILEPOST_TEST_SM90 0, nothing here needs code for sm_90a.
#ifndef TILEPOST_TESTS_GPU_PLAIN_LAUNCH_CUH
#define TILEPOST_TESTS_GPU_PLAIN_LAUNCH_CUH

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tilepost/device/element.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/wgmma.cuh"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

#ifndef TILEPOST_TEST_SM90
#define TILEPOST_TEST_SM90 1
#endif

namespace tilepost {

// The number after "name=" in `config`, or the fallback.
constexpr int configured(const char* config, const char* name, int fallback) {
  for (const char* p = config; *p; ++p) {
    if (p != config && p[-1] != ' ') continue;
    int i = 0;
    while (name[i] && p[i] == name[i]) ++i;
    if (name[i] || p[i] != '=') continue;
    int value = 0;
    for (p += i + 1; *p >= '0' && *p <= '9'; ++p) value = value * 10 + (*p - '0');
    return value;
  }
  return fallback;
}
constexpr DType configured(const char* config, const char* name, DType fallback) {
  return static_cast<DType>(configured(config, name, static_cast<int>(fallback)));
}
static_assert(configured("TILE_M=256 PANELS=2", "PANELS", 4) == 2);
static_assert(configured("TILE_M=256 PANELS=2", "TILE_N", 4) == 4);

}  // namespace tilepost

namespace plain {

// Ends the program, with 1, unless `ok`.
inline void check(bool ok, const char* what, const char* why) {
  if (ok) return;
  std::printf("FAIL: %s: %s\n", what, why);
  std::exit(1);
}
#define CUDA(call) \
  ::plain::check((call) == cudaSuccess, #call, cudaGetErrorString(cudaGetLastError()))

// A template in one configuration.
struct Kernel {
  const char* name;
  const void* function;
  bool tma, f16;
  bool timed;
  int tile_m, tile_n, cluster, ctas_per_sm, threads, shared;
  int load_vector, store_vector;  // k and n must be multiples
};

inline CUtensorMap make_map(const void* p, bool f16, uint64_t inner, uint64_t outer, uint64_t ld,
                            uint32_t box_outer) {
  static PFN_cuTensorMapEncodeTiled_v12000 encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                          cudaEnableDefault, &found));
    check(found == cudaDriverEntryPointSuccess, "cuTensorMapEncodeTiled", "not in this driver");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  CUtensorMap map;
  const cuuint64_t size[2] = {inner, outer}, stride[1] = {ld * 2};
  const cuuint32_t box[2] = {64, box_outer}, step[2] = {1, 1};
  const CUresult result =
      encode(&map, f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
             const_cast<void*>(p), size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(result == CUDA_SUCCESS, "cuTensorMapEncodeTiled", "rejected");
  return map;
}

struct Operands {
  void *a, *b, *c;
};

// One kernel on one problem, ready to launch.
struct Launch {
  Kernel kernel;
  tilepost_shape_t shape;
  Operands operands;
  CUtensorMap a, b, c;
  int grid;

  Launch(const Kernel& k, const tilepost_shape_t& s, const Operands& o, int ctas)
      : kernel(k), shape(s), operands(o) {
    const int rows = (s.m + k.tile_m - 1) / k.tile_m;
    const int tiles =
        (rows + k.cluster - 1) / k.cluster * k.cluster * ((s.n + k.tile_n - 1) / k.tile_n);
    grid = std::min(std::max(1, ctas / k.cluster) * k.cluster, tiles);
    if (k.tma) {
      a = make_map(o.a, k.f16, s.k, s.m, s.lda, k.tile_m);
      b = make_map(o.b, k.f16, s.k, s.n, s.ldb, k.tile_n / k.cluster);
      c = make_map(o.c, k.f16, s.n, s.m, s.ldc, 64);
    }
    CUDA(cudaFuncSetAttribute(k.function, cudaFuncAttributeMaxDynamicSharedMemorySize, k.shared));
  }

  void operator()(cudaStream_t stream) {
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = kernel.cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = kernel.threads;
    config.dynamicSmemBytes = kernel.shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = kernel.cluster > 1;
    void* tma[] = {&a, &b, &c, &shape};
    void* pointers[] = {&operands.a, &operands.b, &operands.c, &shape};
    CUDA(cudaLaunchKernelExC(&config, kernel.function, kernel.tma ? tma : pointers));
  }
};

}  // namespace plain

// The plain::Kernel of the template that was included in namespace `space`.
#define TILEPOST_SM90(space, timed)                                                   \
  plain::Kernel {                                                                     \
#space, reinterpret_cast < const void*>(&space::gemm_sm90), true,                 \
        space::kElement == tilepost::DType::f16, timed, space::kTileM, space::kTileN, \
        space::kCluster, 1, space::kThreads, space::kSharedBytes, 8, 8                \
  }
#define TILEPOST_SM80(space, timed)                                                      \
  plain::Kernel {                                                                        \
#space, reinterpret_cast < const void*>(&space::gemm_sm80), false,                   \
        space::kElement == tilepost::DType::f16, timed, space::kTileM, space::kTileN, 1, \
        space::kCtasPerSm, space::kThreads, space::kSharedBytes, space::kLoadVector,     \
        space::kStoreVector                                                              \
  }

#endif  // TILEPOST_TESTS_GPU_PLAIN_LAUNCH_CUH
