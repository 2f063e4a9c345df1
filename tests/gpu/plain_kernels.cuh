// The templates in the configurations that plain_gemm.cu checks and times.
#ifndef TILEPOST_TESTS_GPU_PLAIN_KERNELS_CUH
#define TILEPOST_TESTS_GPU_PLAIN_KERNELS_CUH

#include "tests/gpu/plain_launch.cuh"

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

inline const plain::Kernel kKernels[] = {
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

#endif  // TILEPOST_TESTS_GPU_PLAIN_KERNELS_CUH
