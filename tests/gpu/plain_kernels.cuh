// The templates in several configurations: each included in a namespace of its own, with another
// meaning of tilepost::tunable that reads the configuration from a string.
#ifndef TILEPOST_TESTS_GPU_PLAIN_KERNELS_CUH
#define TILEPOST_TESTS_GPU_PLAIN_KERNELS_CUH

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

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

struct Kernel {
  const char* name;
  const void* function;
  bool tma, f16;
  bool timed;
  int tile_m, tile_n, cluster, ctas_per_sm, threads, shared;
  int load_vector, store_vector;  // k and n must be multiples
};

#define tunable(name, fallback) configured(CONFIG, name, fallback)

#if TILEPOST_TEST_SM90
#define CONFIG ""
namespace sm90_128x256 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "CLUSTER=1"
namespace sm90_128x256_cluster1 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "CLUSTER=4"
namespace sm90_128x256_cluster4 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=1"
namespace sm90_128x256_f16 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "STAGES=4 PANELS=2"
namespace sm90_128x256_4stages {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_N=128 STAGES=4 PANELS=2"
namespace sm90_256x128 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_N=128 STAGES=4 PANELS=1"
namespace sm90_256x128_1panel {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=192 STAGES=4 PANELS=3"
namespace sm90_128x192 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=128 STAGES=5 PANELS=2"
namespace sm90_128x128 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#endif

#define CONFIG "TILE_M=256 TILE_K=64 STAGES=3"
namespace sm80_256x128x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_K=64 STAGES=3 LOAD_VECTOR=4 STORE_VECTOR=4 ELEMENT=1"
namespace sm80_256x128x64_vector4 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_K=64 STAGES=3 LOAD_VECTOR=2 STORE_VECTOR=2"
namespace sm80_256x128x64_vector2 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_K=64 STAGES=3 LOAD_VECTOR=1 STORE_VECTOR=1"
namespace sm80_256x128x64_vector1 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=256"
namespace sm80_128x256x32 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG ""
namespace sm80_128x128x32 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 STAGES=3"
namespace sm80_256x128x32 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "STAGES=3 CTAS_PER_SM=2 ELEMENT=1"
namespace sm80_128x128x32_2ctas {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 TILE_K=64 STAGES=3 WARP_M=32"
namespace sm80_64x128x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#undef tunable

#define TILEPOST_SM90(space, timed)                                                   \
  Kernel {                                                                            \
#space, reinterpret_cast < const void*>(&space::gemm_sm90), true,                 \
        space::kElement == tilepost::DType::f16, timed, space::kTileM, space::kTileN, \
        space::kCluster, 1, space::kThreads, space::kSharedBytes, 8, 8                \
  }
#define TILEPOST_SM80(space, timed)                                                      \
  Kernel {                                                                               \
#space, reinterpret_cast < const void*>(&space::gemm_sm80), false,                   \
        space::kElement == tilepost::DType::f16, timed, space::kTileM, space::kTileN, 1, \
        space::kCtasPerSm, space::kThreads, space::kSharedBytes, space::kLoadVector,     \
        space::kStoreVector                                                              \
  }

inline const Kernel kKernels[] = {
#if TILEPOST_TEST_SM90
    TILEPOST_SM90(sm90_128x256, true),
    TILEPOST_SM90(sm90_128x256_cluster1, false),
    TILEPOST_SM90(sm90_128x256_cluster4, false),
    TILEPOST_SM90(sm90_128x256_f16, false),
    TILEPOST_SM90(sm90_128x256_4stages, true),
    TILEPOST_SM90(sm90_256x128, true),
    TILEPOST_SM90(sm90_256x128_1panel, false),
    TILEPOST_SM90(sm90_128x192, true),
    TILEPOST_SM90(sm90_128x128, false),
#endif
    TILEPOST_SM80(sm80_256x128x64, true),
    TILEPOST_SM80(sm80_256x128x64_vector4, false),
    TILEPOST_SM80(sm80_256x128x64_vector2, false),
    TILEPOST_SM80(sm80_256x128x64_vector1, false),
    TILEPOST_SM80(sm80_128x256x32, false),
    TILEPOST_SM80(sm80_128x128x32, false),
    TILEPOST_SM80(sm80_256x128x32, false),
    TILEPOST_SM80(sm80_128x128x32_2ctas, false),
    TILEPOST_SM80(sm80_64x128x64, false),
};
#undef TILEPOST_SM90
#undef TILEPOST_SM80

#endif  // TILEPOST_TESTS_GPU_PLAIN_KERNELS_CUH
