// gemm_sm90 with other operands and epilogues.
#include "tests/gpu/plain_kernels.h"

#if TILEPOST_TEST_SM90
#define tunable(name, fallback) configured(CONFIG, name, fallback)
#define CONFIG "NN=1"
namespace sm90_nn_128x256 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "NN=1 CLUSTER=1"
namespace sm90_nn_128x256_cluster1 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "NN=1 ELEMENT=1 OUTPUT=1"
namespace sm90_nn_128x256_f16 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "NN=1 TILE_M=256 TILE_N=128 STAGES=4 PANELS=2"
namespace sm90_nn_256x128 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "NN=1 PINGPONG=1 TILE_N=192 STAGES=5 PANELS=1"
namespace sm90_nn_pingpong_128x192 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2"
namespace sm90_e4m3_fast_128x256 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 PINGPONG=1 TILE_N=192 STAGES=5 PANELS=1"
namespace sm90_e4m3_fast_pingpong_128x192 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 PRECISE=1 TILE_N=128 STAGES=5 PANELS=2"
namespace sm90_e4m3_precise_128x128 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 PRECISE=1 PINGPONG=1 TILE_M=64 TILE_N=192 STAGES=6 PANELS=1 OUTPUT=1"
namespace sm90_e4m3_precise_pingpong_64x192 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=14"
namespace sm90_128x256_scales_bias {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=94"
namespace sm90_128x256_all_gelu {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=33"
namespace sm90_128x256_scale_silu {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=64 ELEMENT=1 OUTPUT=1"
namespace sm90_128x256_f16_residual {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "EPILOGUE=110 PINGPONG=1 TILE_N=192 STAGES=5 PANELS=1"
namespace sm90_pingpong_128x192_all_silu {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=2 PRECISE=1 TILE_N=128 STAGES=5 PANELS=2 EPILOGUE=22"
namespace sm90_e4m3_precise_128x128_scales_gelu {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "NN=1 EPILOGUE=72"
namespace sm90_nn_128x256_bias_residual {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#undef tunable
#endif

std::vector<plain::Kernel> sm90_more_kernels() {
#if TILEPOST_TEST_SM90
  return {
      TILEPOST_SM90(sm90_nn_128x256, true),
      TILEPOST_SM90(sm90_nn_128x256_cluster1, false),
      TILEPOST_SM90(sm90_nn_128x256_f16, false),
      TILEPOST_SM90(sm90_nn_256x128, true),
      TILEPOST_SM90(sm90_nn_pingpong_128x192, true),
      TILEPOST_SM90(sm90_e4m3_fast_128x256, true),
      TILEPOST_SM90(sm90_e4m3_fast_pingpong_128x192, true),
      TILEPOST_SM90(sm90_e4m3_precise_128x128, true),
      TILEPOST_SM90(sm90_e4m3_precise_pingpong_64x192, true),
      TILEPOST_SM90(sm90_128x256_scales_bias, false),
      TILEPOST_SM90(sm90_128x256_all_gelu, true),
      TILEPOST_SM90(sm90_128x256_scale_silu, false),
      TILEPOST_SM90(sm90_128x256_f16_residual, false),
      TILEPOST_SM90(sm90_pingpong_128x192_all_silu, false),
      TILEPOST_SM90(sm90_e4m3_precise_128x128_scales_gelu, false),
      TILEPOST_SM90(sm90_nn_128x256_bias_residual, false),
  };
#else
  return {};
#endif
}
