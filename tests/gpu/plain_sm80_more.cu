// gemm_sm80 with other operands and epilogues. It is left out below sm_89, which has no e4m3.
#include "tests/gpu/plain_kernels.h"

#if TILEPOST_TEST_SM80_MORE
#define tunable(name, fallback) configured(CONFIG, name, fallback)
#define CONFIG "NN=1 TILE_M=256 TILE_K=64 STAGES=3"
namespace sm80_nn_256x128x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG                                                                                 \
  "NN=1 TILE_M=256 TILE_K=64 STAGES=3 LOAD_VECTOR=4 LOAD_VECTOR_B=2 STORE_VECTOR=2 ELEMENT=1 " \
  "OUTPUT=1"
namespace sm80_nn_256x128x64_vector4 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "NN=1 TILE_M=256 TILE_K=64 STAGES=3 LOAD_VECTOR=2 LOAD_VECTOR_B=1 STORE_VECTOR=1"
namespace sm80_nn_256x128x64_vector1 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "NN=1 TILE_N=256 OVERLAP_STORE=1"
namespace sm80_nn_128x256x32_overlap {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "NN=1 STAGES=3 CTAS_PER_SM=2"
namespace sm80_nn_128x128x32_2ctas {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "NN=1 TILE_M=64 TILE_K=64 STAGES=6 WARP_M=32 LOAD_VECTOR=1"
namespace sm80_nn_64x128x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "NN=1 TILE_M=64 TILE_N=64 TILE_K=64 STAGES=8 WARP_M=32 WARP_N=32"
namespace sm80_nn_64x64x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "NN=1 TILE_M=16 TILE_N=32 TILE_K=64 STAGES=12 WARP_M=16 WARP_N=16"
namespace sm80_nn_16x32x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG \
  "EPILOGUE=105 TILE_M=16 TILE_N=32 TILE_K=64 STAGES=12 WARP_M=16 WARP_N=16 LOAD_VECTOR=1"
namespace sm80_16x32x64_all_silu_vector1 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 TILE_K=64 STAGES=4 WARP_N=32 LOAD_VECTOR=16"
namespace sm80_e4m3_128x128x64 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 TILE_K=64 STAGES=4 WARP_N=32 LOAD_VECTOR=8 STORE_VECTOR=4 OUTPUT=1"
namespace sm80_e4m3_128x128x64_vector8 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 TILE_K=64 STAGES=4 WARP_N=32 LOAD_VECTOR=2 STORE_VECTOR=2"
namespace sm80_e4m3_128x128x64_vector2 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 TILE_K=64 STAGES=4 WARP_N=32 LOAD_VECTOR=1 STORE_VECTOR=1"
namespace sm80_e4m3_128x128x64_vector1 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 PRECISE=1 TILE_K=128 STAGES=3 WARP_N=32 LOAD_VECTOR=16"
namespace sm80_e4m3_precise_128x128x128 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 PRECISE=1 TILE_K=128 STAGES=3 WARP_N=32 LOAD_VECTOR=4 STORE_VECTOR=1"
namespace sm80_e4m3_precise_128x128x128_vector4 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=14 TILE_M=256 TILE_K=64 STAGES=3"
namespace sm80_256x128x64_scales_bias {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=94 TILE_M=256 TILE_K=64 STAGES=3"
namespace sm80_256x128x64_all_gelu {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=105 TILE_M=256 TILE_K=64 STAGES=3 LOAD_VECTOR=1 STORE_VECTOR=1"
namespace sm80_256x128x64_all_silu_vector1 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=64 NN=1 STAGES=3 CTAS_PER_SM=2 ELEMENT=1 OUTPUT=1"
namespace sm80_nn_128x128x32_f16_residual {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=16 TILE_N=256"
namespace sm80_128x256x32_gelu {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=6 ELEMENT=2 TILE_K=64 STAGES=4 WARP_N=32 LOAD_VECTOR=16"
namespace sm80_e4m3_128x128x64_scales {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#undef tunable

std::vector<plain::Kernel> sm80_more_kernels() {
  return {
      TILEPOST_SM80(sm80_nn_256x128x64, true),
      TILEPOST_SM80(sm80_nn_256x128x64_vector4, false),
      TILEPOST_SM80(sm80_nn_256x128x64_vector1, false),
      TILEPOST_SM80(sm80_nn_128x256x32_overlap, false),
      TILEPOST_SM80(sm80_nn_128x128x32_2ctas, false),
      TILEPOST_SM80(sm80_nn_64x128x64, false),
      TILEPOST_SM80(sm80_nn_64x64x64, false),
      TILEPOST_SM80(sm80_nn_16x32x64, false),
      TILEPOST_SM80(sm80_16x32x64_all_silu_vector1, false),
      TILEPOST_SM80(sm80_e4m3_128x128x64, true),
      TILEPOST_SM80(sm80_e4m3_128x128x64_vector8, false),
      TILEPOST_SM80(sm80_e4m3_128x128x64_vector2, false),
      TILEPOST_SM80(sm80_e4m3_128x128x64_vector1, false),
      TILEPOST_SM80(sm80_e4m3_precise_128x128x128, true),
      TILEPOST_SM80(sm80_e4m3_precise_128x128x128_vector4, false),
      TILEPOST_SM80(sm80_256x128x64_scales_bias, false),
      TILEPOST_SM80(sm80_256x128x64_all_gelu, true),
      TILEPOST_SM80(sm80_256x128x64_all_silu_vector1, false),
      TILEPOST_SM80(sm80_nn_128x128x32_f16_residual, false),
      TILEPOST_SM80(sm80_128x256x32_gelu, false),
      TILEPOST_SM80(sm80_e4m3_128x128x64_scales, false),
  };
}
#endif
