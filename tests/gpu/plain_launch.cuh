// The CUDA templates un-woven: how a test configures, describes and launches them.
//
// A template is included in a namespace of its own. There tilepost::tunable has another meaning: it
// reads the configuration from a string.
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
// In CONFIG element types are numbers: 0 bf16, 1 f16, 2 e4m3. If TILEPOST_TEST_SM90 is 0, nothing
// here needs code for sm_90a.
#ifndef TILEPOST_TESTS_GPU_PLAIN_LAUNCH_CUH
#define TILEPOST_TESTS_GPU_PLAIN_LAUNCH_CUH

#include <cuda.h>
#include <cudaTypedefs.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tilepost/device/block_scales.cuh"
#include "tilepost/device/element.cuh"
#include "tilepost/device/epilogue.cuh"
#include "tilepost/device/mates.cuh"
#include "tilepost/device/narrow_products.cuh"
#include "tilepost/device/panel.cuh"
#include "tilepost/device/pipeline.cuh"
#include "tilepost/device/positions.cuh"
#include "tilepost/device/products.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_cluster.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/ring.cuh"
#include "tilepost/device/scaled_products.cuh"
#include "tilepost/device/source_panels.cuh"
#include "tilepost/device/split_k.cuh"
#include "tilepost/device/staged_scales.cuh"
#include "tilepost/device/transposed_epilogue.cuh"
#include "tilepost/device/wgmma.cuh"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

#ifndef TILEPOST_TEST_SM90
#define TILEPOST_TEST_SM90 1
#endif

namespace tilepost {

// The number behind "name=" in `config`, or the fallback.
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

// Ends the program with exit code 1 unless `ok`.
inline void check(bool ok, const char* what, const char* why) {
  if (ok) return;
  std::printf("FAIL: %s: %s\n", what, why);
  std::exit(1);
}
#define CUDA(call) \
  ::plain::check((call) == cudaSuccess, #call, cudaGetErrorString(cudaGetLastError()))

constexpr tilepost_box_t box(int columns, int rows, bool swizzled = true) {
  return {columns, rows, swizzled ? 128 : 0, 0};
}

// A template in one configuration.
struct Kernel {
  const char* name;
  const void* function;
  bool timed;
  tilepost::DType element, output;
  bool nn;       // B is [k, n]
  bool precise;  // for e4m3: whether sums are in fp32
  int epilogue;  // a set of TILEPOST_SCALE, …
  int threads, shared;
  int tile_m, tile_n;
  bool tma = false;
  int rows_in_cluster = 1;         // CTAs that take consecutive tile rows
  int positions = 1, cluster = 1;  // of a cluster: positions at a time; CTAs
  int ctas_per_sm = 1;
  // K must be a multiple of load_vector and, for nn, n of load_vector_b.
  int load_vector, load_vector_b = 8;
  int store_vector = 8;  // n must be a multiple of it
  tilepost_box_t box_a{}, box_b{}, box_c{};

  bool serves(int n, int k) const {
    return k % load_vector == 0 && (!nn || n % load_vector_b == 0) && n % store_vector == 0;
  }
};

inline int bytes_of(tilepost::DType type) {
  return type == tilepost::DType::e4m3 ? 1 : 2;
}

inline CUtensorMap make_map(const void* p, tilepost::DType type, uint64_t inner, uint64_t outer,
                            uint64_t ld, const tilepost_box_t& box) {
  static PFN_cuTensorMapEncodeTiled_v12000 encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                          cudaEnableDefault, &found));
    check(found == cudaDriverEntryPointSuccess, "cuTensorMapEncodeTiled", "not in this driver");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  constexpr CUtensorMapDataType kTypes[] = {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                            CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                                            CU_TENSOR_MAP_DATA_TYPE_UINT8};
  CUtensorMap map;
  const cuuint64_t size[2] = {inner, outer}, stride[1] = {ld * bytes_of(type)};
  const cuuint32_t extent[2] = {static_cast<cuuint32_t>(box.columns),
                                static_cast<cuuint32_t>(box.rows)};
  const cuuint32_t step[2] = {1, 1};
  const CUresult result =
      encode(&map, kTypes[static_cast<int>(type)], 2, const_cast<void*>(p), size, stride, extent,
             step, CU_TENSOR_MAP_INTERLEAVE_NONE,
             box.swizzle == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(result == CUDA_SUCCESS, "cuTensorMapEncodeTiled", "rejected");
  return map;
}

struct Operands {
  void *a, *b, *c;
};

// One kernel on one problem, ready for a launch on at most `ctas` CTAs.
struct Launch {
  Kernel kernel;
  tilepost_shape_t shape;
  tilepost_epilogue_t epilogue;
  Operands operands;
  CUtensorMap a, b, c;
  int grid;

  Launch(const Kernel& k, const tilepost_shape_t& s, const Operands& o, int ctas,
         const tilepost_epilogue_t& e = {})
      : kernel(k), shape(s), epilogue(e), operands(o) {
    epilogue.out = o.c;
    const int rows = (s.m + k.tile_m - 1) / k.tile_m;
    const int padded = (rows + k.rows_in_cluster - 1) / k.rows_in_cluster * k.rows_in_cluster;
    const int tiles = padded * ((s.n + k.tile_n - 1) / k.tile_n);
    grid = std::min(std::max(1, ctas / k.cluster), (tiles + k.positions - 1) / k.positions) *
           k.cluster;
    if (k.tma) {
      a = make_map(o.a, k.element, s.k, s.m, s.lda, k.box_a);
      b = k.nn ? make_map(o.b, k.element, s.n, s.k, s.ldb, k.box_b)
               : make_map(o.b, k.element, s.k, s.n, s.ldb, k.box_b);
      c = make_map(o.c, k.output, s.n, s.m, s.ldc, k.box_c);
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
    void* tma[] = {&a, &b, &c, &shape, &epilogue};
    void* pointers[] = {&operands.a, &operands.b, &operands.c, &shape, &epilogue};
    CUDA(cudaLaunchKernelExC(&config, kernel.function, kernel.tma ? tma : pointers));
  }
};

}  // namespace plain

// The plain::Kernel of the template included in namespace `space`.
#define TILEPOST_PLAIN(space, template, is_timed, columns)                                        \
  .name = #space, .function = reinterpret_cast<const void*>(&space::template), .timed = is_timed, \
  .element = space::kElement, .output = space::kOutput, .nn = space::kNN,                         \
  .precise = space::kPrecise, .epilogue = space::kEpilogue, .threads = space::kThreads,           \
  .shared = space::kSharedBytes, .tile_m = space::kTileM, .tile_n = space::columns
#define TILEPOST_PLAIN_B(space, share)                  \
  (space::kNN ? plain::box(64, space::kTileK / (share)) \
              : plain::box(space::kTileK, space::kTileN / (share)))
#define TILEPOST_SM90(space, is_timed)                                                 \
  plain::Kernel {                                                                      \
    TILEPOST_PLAIN(space, gemm_sm90, is_timed, kWholeN),                               \
        .tma = true, .rows_in_cluster = space::kCluster, .positions = space::kCluster, \
        .cluster = space::Mates::kAll, .load_vector = space::kTileK / 8,               \
        .box_a = plain::box(space::kTileK, space::kTileM / space::kAcross),            \
        .box_b = TILEPOST_PLAIN_B(space, space::kCluster),                             \
        .box_c = plain::box(space::kPanelN, space::kPanelM)                            \
  }
#define TILEPOST_SM80(space, is_timed)                                            \
  plain::Kernel {                                                                 \
    TILEPOST_PLAIN(space, gemm_sm80, is_timed, kTileN),                           \
        .ctas_per_sm = space::kCtasPerSm, .load_vector = space::kLoadVector,      \
        .load_vector_b = space::kLoadVectorB, .store_vector = space::kStoreVector \
  }

#endif  // TILEPOST_TESTS_GPU_PLAIN_LAUNCH_CUH
