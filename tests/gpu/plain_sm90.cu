// gemm_sm90 with [n, k] operands of 16 bits, as plain_gemm.cu checks and times it.
#include "tests/gpu/plain_kernels.h"

#if TILEPOST_TEST_SM90
#define tunable(name, fallback) configured(CONFIG, name, fallback)
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
#define CONFIG "ELEMENT=1 OUTPUT=1"
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
#define CONFIG "ROUTED=1"
namespace sm90_routed {
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
#define CONFIG "TILE_M=256 TILE_N=192 STAGES=3 PANELS=3"
namespace sm90_256x192 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "PINGPONG=1 TILE_N=192 STAGES=5 PANELS=1"
namespace sm90_pingpong_128x192 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "PINGPONG=1 TILE_N=128 STAGES=6 PANELS=2"
namespace sm90_pingpong_128x128 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "PINGPONG=1 TILE_M=64 STAGES=4 PANELS=2"
namespace sm90_pingpong_64x256 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#undef tunable
#endif

std::vector<plain::Kernel> sm90_kernels() {
#if TILEPOST_TEST_SM90
  return {
      TILEPOST_SM90(sm90_128x256, true),           TILEPOST_SM90(sm90_128x256_cluster1, false),
      TILEPOST_SM90(sm90_128x256_cluster4, false), TILEPOST_SM90(sm90_128x256_f16, false),
      TILEPOST_SM90(sm90_128x256_4stages, true),   TILEPOST_SM90(sm90_256x128, true),
      TILEPOST_SM90(sm90_256x128_1panel, false),   TILEPOST_SM90(sm90_128x192, true),
      TILEPOST_SM90(sm90_128x128, false),          TILEPOST_SM90(sm90_256x192, true),
      TILEPOST_SM90(sm90_routed, false),           TILEPOST_SM90(sm90_pingpong_128x192, true),
      TILEPOST_SM90(sm90_pingpong_128x128, true),
  };
#else
  return {};
#endif
}
