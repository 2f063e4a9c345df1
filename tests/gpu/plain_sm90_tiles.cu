// gemm_sm90 with tiles of any width, three consumers, and swapped operands.
#include "tests/gpu/plain_kernels.h"

#if TILEPOST_TEST_SM90
#define tunable(name, fallback) configured(CONFIG, name, fallback)
#define CONFIG "PINGPONG=1 TILE_N=144 PANEL_N=48 STAGES=6 PANELS=1"
namespace sm90_n144_pingpong {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "PINGPONG=1 TILE_N=168 PANEL_N=56 STAGES=5 PANELS=1 CLUSTER=4"
namespace sm90_n168_cluster4 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=168 PANEL_N=56 STAGES=4 PANELS=3"
namespace sm90_n168 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=160 PANEL_N=40 STAGES=4 PANELS=4 EPILOGUE=94"
namespace sm90_n160_all_gelu {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=144 PANEL_N=48 STAGES=4 PANELS=3 ROUTED=1"
namespace sm90_n144_routed {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=112 PANEL_N=56 STAGES=5 PANELS=2 ROUTED=1"
namespace sm90_n112_routed {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "TILE_N=144 PANEL_N=48 STAGES=4 PANELS=3 ELEMENT=2 PRECISE=1"
namespace sm90_n144_e4m3_precise {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "PINGPONG=1 TILE_M=64 TILE_N=240 PANEL_N=48 STAGES=4 PANELS=2"
namespace sm90_m64_n240 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "CONSUMERS=3 TILE_M=192 TILE_N=168 PANEL_N=56 STAGES=4 PANELS=1"
namespace sm90_m192_n168_three {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "CONSUMERS=3 TILE_M=192 TILE_N=128 STAGES=5 PANELS=1 NN=1 CLUSTER=1"
namespace sm90_m192_n128_three_nn {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "SWAP=1 CONSUMERS=3 TILE_M=200 TILE_N=192 PANEL_M=40 STAGES=4 PANELS=2"
namespace sm90_swap_m200_three {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "SWAP=1 CONSUMERS=3 TILE_M=104 TILE_N=192 PANEL_M=104 STAGES=5 PANELS=1 CLUSTER=1"
namespace sm90_swap_m104_three {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "SWAP=1 CONSUMERS=3 TILE_M=72 TILE_N=192 PANEL_M=72 STAGES=5 PANELS=1 NN=1"
namespace sm90_swap_m72_three_nn {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "SWAP=1 TILE_M=176 TILE_N=256 PANEL_M=88 STAGES=3 PANELS=2"
namespace sm90_swap_m176 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "SWAP=1 TILE_M=208 TILE_N=128 PANEL_M=104 STAGES=4 PANELS=2 CLUSTER=4"
namespace sm90_swap_m208_cluster4 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "SWAP=1 TILE_M=120 TILE_N=128 PANEL_M=40 STAGES=6 PANELS=2 EPILOGUE=110"
namespace sm90_swap_m120_all_silu {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG \
  "SWAP=1 TILE_M=112 TILE_N=256 PANEL_M=56 STAGES=4 PANELS=2 EPILOGUE=64 ELEMENT=1 OUTPUT=1"
namespace sm90_swap_m112_f16_residual {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "SWAP=1 CONSUMERS=3 TILE_M=160 TILE_N=192 PANEL_M=40 STAGES=4 PANELS=2 ELEMENT=2"
namespace sm90_swap_m160_e4m3_fast {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG \
  "SWAP=1 TILE_M=88 TILE_N=128 PANEL_M=88 STAGES=7 PANELS=1 ELEMENT=2 PRECISE=1 OUTPUT=1"
namespace sm90_swap_m88_e4m3_precise {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#undef tunable
#endif

std::vector<plain::Kernel> sm90_tiles_kernels() {
#if TILEPOST_TEST_SM90
  return {
      TILEPOST_SM90(sm90_n144_pingpong, false),
      TILEPOST_SM90(sm90_n168_cluster4, false),
      TILEPOST_SM90(sm90_n168, false),
      TILEPOST_SM90(sm90_n160_all_gelu, false),
      TILEPOST_SM90(sm90_n144_routed, false),
      TILEPOST_SM90(sm90_n112_routed, false),
      TILEPOST_SM90(sm90_n144_e4m3_precise, false),
      TILEPOST_SM90(sm90_m64_n240, false),
      TILEPOST_SM90(sm90_m192_n168_three, false),
      TILEPOST_SM90(sm90_m192_n128_three_nn, false),
      TILEPOST_SM90(sm90_swap_m200_three, false),
      TILEPOST_SM90(sm90_swap_m104_three, false),
      TILEPOST_SM90(sm90_swap_m72_three_nn, false),
      TILEPOST_SM90(sm90_swap_m176, false),
      TILEPOST_SM90(sm90_swap_m208_cluster4, false),
      TILEPOST_SM90(sm90_swap_m120_all_silu, false),
      TILEPOST_SM90(sm90_swap_m112_f16_residual, false),
      TILEPOST_SM90(sm90_swap_m160_e4m3_fast, false),
      TILEPOST_SM90(sm90_swap_m88_e4m3_precise, false),
  };
#else
  return {};
#endif
}
