// gemm_sm80 with [n, k] operands of 16 bits, as plain_gemm.cu checks and times it. The planner's
// configurations come first, then others that were tried.
#include "tests/gpu/plain_kernels.h"

#define tunable(name, fallback) configured(CONFIG, name, fallback)
#define CONFIG "TILE_M=256 TILE_K=64 STAGES=3"
namespace sm80_256x128x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_K=64 STAGES=3 LOAD_VECTOR=4 STORE_VECTOR=4 ELEMENT=1 OUTPUT=1"
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
#define CONFIG "STAGES=3 CTAS_PER_SM=2 ELEMENT=1 OUTPUT=1"
namespace sm80_128x128x32_2ctas {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_K=64"
namespace sm80_128x128x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 TILE_K=64 STAGES=6 WARP_M=32"
namespace sm80_64x128x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 TILE_N=64 TILE_K=64 STAGES=8 WARP_M=32 WARP_N=32"
namespace sm80_64x64x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 TILE_N=32 TILE_K=64 STAGES=12 WARP_M=16 WARP_N=16"
namespace sm80_16x32x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_K=64 STAGES=3 OVERLAP_STORE=1"
namespace sm80_256x128x64_overlap {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_K=64 STAGES=4"
namespace sm80_256x128x64_4stages {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 STAGES=5"
namespace sm80_256x128x32_5stages {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=256 OVERLAP_STORE=1"
namespace sm80_128x256x32_overlap {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=256 TILE_K=64 STAGES=3"
namespace sm80_128x256x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=256 TILE_K=64 STAGES=3 OVERLAP_STORE=1"
namespace sm80_128x256x64_overlap {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "TILE_K=64 STAGES=3 CTAS_PER_SM=2"
namespace sm80_128x128x64_2ctas {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#undef tunable

std::vector<plain::Kernel> sm80_kernels() {
  return {
      TILEPOST_SM80(sm80_256x128x64, true),          TILEPOST_SM80(sm80_256x128x64_vector4, false),
      TILEPOST_SM80(sm80_256x128x64_vector2, false), TILEPOST_SM80(sm80_256x128x64_vector1, false),
      TILEPOST_SM80(sm80_128x256x32, true),          TILEPOST_SM80(sm80_128x128x32, false),
      TILEPOST_SM80(sm80_256x128x32, false),         TILEPOST_SM80(sm80_128x128x32_2ctas, false),
      TILEPOST_SM80(sm80_128x128x64, false),         TILEPOST_SM80(sm80_64x128x64, false),
      TILEPOST_SM80(sm80_64x64x64, false),           TILEPOST_SM80(sm80_16x32x64, false),
      TILEPOST_SM80(sm80_256x128x64_overlap, true),  TILEPOST_SM80(sm80_256x128x64_4stages, true),
      TILEPOST_SM80(sm80_256x128x32_5stages, true),  TILEPOST_SM80(sm80_128x256x32_overlap, true),
      TILEPOST_SM80(sm80_128x256x64, true),          TILEPOST_SM80(sm80_128x256x64_overlap, true),
      TILEPOST_SM80(sm80_128x128x64_2ctas, true),
  };
}
