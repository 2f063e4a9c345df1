// gemm_sm90_small in the configurations that small_gemm.cu checks and times, and its launch.
//
// A name is m<TILE_M>_n<TILE_N>, then s<SPLIT_K>. plain_launch.cuh explains how a configuration
// gets into the template.
#ifndef TILEPOST_TESTS_GPU_SMALL_KERNELS_CUH
#define TILEPOST_TESTS_GPU_SMALL_KERNELS_CUH

#include "tests/gpu/plain_launch.cuh"

#define tunable(name, fallback) configured(CONFIG, name, fallback)

#define CONFIG "TILE_M=8 STAGES=11"
namespace m8_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=8 STAGES=11 SPLIT_K=2"
namespace m8_n64_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=8 STAGES=11 SPLIT_K=3"
namespace m8_n64_s3 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=8 STAGES=11 SPLIT_K=8"
namespace m8_n64_s8 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 STAGES=10"
namespace m16_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 STAGES=2"
namespace m16_n64_2stages {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 STAGES=10 SPLIT_K=2"
namespace m16_n64_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 STAGES=10 SPLIT_K=3"
namespace m16_n64_s3 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 STAGES=9 SPLIT_K=4"
namespace m16_n64_s4 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=32 STAGES=8"
namespace m32_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=32 STAGES=8 SPLIT_K=2"
namespace m32_n64_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=32 STAGES=8 SPLIT_K=3"
namespace m32_n64_s3 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=48 STAGES=7"
namespace m48_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 STAGES=6"
namespace m64_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 STAGES=6 SPLIT_K=2"
namespace m64_n64_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 STAGES=6 SPLIT_K=3"
namespace m64_n64_s3 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 TILE_N=128 STAGES=4 SPLIT_K=2"
namespace m64_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 TILE_N=128 STAGES=2 SPLIT_K=2"
namespace m64_n128_s2_2stages {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=80 STAGES=11"
namespace m80_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=96 STAGES=10"
namespace m96_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=96 TILE_N=128 STAGES=6 SPLIT_K=2"
namespace m96_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=96 TILE_N=128 STAGES=7"
namespace m96_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=112 STAGES=9"
namespace m112_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=112 TILE_N=128 STAGES=6"
namespace m112_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 STAGES=8"
namespace m128_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 STAGES=7 SPLIT_K=3"
namespace m128_n64_s3 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 TILE_N=128 STAGES=6"
namespace m128_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 TILE_N=128 STAGES=5 SPLIT_K=2"
namespace m128_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 TILE_N=128 STAGES=3 SPLIT_K=2"
namespace m128_n128_s2_3stages {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 TILE_N=128 STAGES=5 SPLIT_K=4"
namespace m128_n128_s4 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=144 TILE_N=128 STAGES=5"
namespace m144_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=176 TILE_N=128 STAGES=4"
namespace m176_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=192 TILE_N=128 STAGES=4"
namespace m192_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=192 TILE_N=128 STAGES=3 SPLIT_K=2"
namespace m192_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=208 TILE_N=128 STAGES=3 SPLIT_K=2"
namespace m208_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_N=128 STAGES=3"
namespace m256_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 STAGES=10 NN=1"
namespace nn_m16_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 TILE_N=128 STAGES=4 SPLIT_K=2 NN=1"
namespace nn_m64_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 TILE_N=128 STAGES=6 NN=1"
namespace nn_m128_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_N=128 STAGES=3 NN=1"
namespace nn_m256_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=32 STAGES=8 ELEMENT=1 OUTPUT=1"
namespace f16_m32_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=8 TILE_N=128 STAGES=6 SPLIT_K=2 ELEMENT=1 OUTPUT=1 NN=1"
namespace f16_nn_m8_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 STAGES=10 ELEMENT=2"
namespace fast_m16_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 TILE_N=128 STAGES=5 SPLIT_K=2 ELEMENT=2"
namespace fast_m128_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_N=128 STAGES=3 ELEMENT=2"
namespace fast_m256_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 STAGES=10 ELEMENT=2 PRECISE=1"
namespace precise_m16_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 TILE_N=128 STAGES=4 SPLIT_K=2 ELEMENT=2 PRECISE=1"
namespace precise_m64_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 TILE_N=128 STAGES=6 ELEMENT=2 PRECISE=1 OUTPUT=1"
namespace precise_m128_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=16 STAGES=10 EPILOGUE=40"
namespace bias_silu_m16_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 TILE_N=128 STAGES=4 SPLIT_K=2 EPILOGUE=94"
namespace all_gelu_m64_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 TILE_N=128 STAGES=6 EPILOGUE=110"
namespace all_silu_m128_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=256 TILE_N=128 STAGES=3 EPILOGUE=110"
namespace all_silu_m256_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=192 TILE_N=128 STAGES=3 SPLIT_K=2 EPILOGUE=78"
namespace all_m192_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=96 STAGES=8 SPLIT_K=3 EPILOGUE=94"
namespace all_gelu_m96_n64_s3 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=32 STAGES=8 ELEMENT=1 OUTPUT=1 EPILOGUE=65"
namespace f16_scale_residual_m32_n64 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=128 TILE_N=128 STAGES=6 ELEMENT=2 PRECISE=1 EPILOGUE=110"
namespace precise_all_silu_m128_n128 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#define CONFIG "TILE_M=64 TILE_N=128 STAGES=4 SPLIT_K=2 ELEMENT=2 PRECISE=1 EPILOGUE=6"
namespace precise_scales_m64_n128_s2 {
#include "templates/gemm_sm90_small.cu"
}
#undef CONFIG
#undef tunable

namespace small {

using tilepost::DType;

// The template in one configuration.
struct Kernel {
  const char* name;
  const void* function;
  bool timed;
  DType element, output;
  bool nn, precise;
  int epilogue;
  int tile_m, tile_n, tile_k, split_k, box_m;
  int threads, shared;
};

#define TILEPOST_SMALL(space, timed)                                                          \
  small::Kernel {                                                                             \
#space, reinterpret_cast < const void*>(&space::gemm_sm90_small), timed, space::kElement, \
        space::kOutput, space::kNN, space::kPrecise, space::kEpilogue, space::kTileM,         \
        space::kTileN, space::kTileK, space::kSplitK, space::kBoxM, space::kThreads,          \
        space::kSharedBytes                                                                   \
  }

inline const Kernel kKernels[] = {
    TILEPOST_SMALL(m8_n64, true),
    TILEPOST_SMALL(m8_n64_s2, true),
    TILEPOST_SMALL(m8_n64_s3, true),
    TILEPOST_SMALL(m8_n64_s8, false),
    TILEPOST_SMALL(m16_n64, true),
    TILEPOST_SMALL(m16_n64_2stages, false),
    TILEPOST_SMALL(m16_n64_s2, true),
    TILEPOST_SMALL(m16_n64_s3, true),
    TILEPOST_SMALL(m16_n64_s4, true),
    TILEPOST_SMALL(m32_n64, true),
    TILEPOST_SMALL(m32_n64_s2, true),
    TILEPOST_SMALL(m32_n64_s3, true),
    TILEPOST_SMALL(m48_n64, true),
    TILEPOST_SMALL(m64_n64, true),
    TILEPOST_SMALL(m64_n64_s2, true),
    TILEPOST_SMALL(m64_n64_s3, true),
    TILEPOST_SMALL(m64_n128_s2, true),
    TILEPOST_SMALL(m64_n128_s2_2stages, false),
    TILEPOST_SMALL(m80_n64, true),
    TILEPOST_SMALL(m96_n64, true),
    TILEPOST_SMALL(m96_n128_s2, true),
    TILEPOST_SMALL(m96_n128, true),
    TILEPOST_SMALL(m112_n64, true),
    TILEPOST_SMALL(m112_n128, true),
    TILEPOST_SMALL(m128_n64, true),
    TILEPOST_SMALL(m128_n64_s3, true),
    TILEPOST_SMALL(m128_n128, true),
    TILEPOST_SMALL(m128_n128_s2, true),
    TILEPOST_SMALL(m128_n128_s2_3stages, false),
    TILEPOST_SMALL(m128_n128_s4, true),
    TILEPOST_SMALL(m144_n128, true),
    TILEPOST_SMALL(m176_n128, true),
    TILEPOST_SMALL(m192_n128, true),
    TILEPOST_SMALL(m192_n128_s2, true),
    TILEPOST_SMALL(m208_n128_s2, false),
    TILEPOST_SMALL(m256_n128, true),
    TILEPOST_SMALL(nn_m16_n64, false),
    TILEPOST_SMALL(nn_m64_n128_s2, false),
    TILEPOST_SMALL(nn_m128_n128, false),
    TILEPOST_SMALL(nn_m256_n128, false),
    TILEPOST_SMALL(f16_m32_n64, false),
    TILEPOST_SMALL(f16_nn_m8_n128_s2, false),
    TILEPOST_SMALL(fast_m16_n64, false),
    TILEPOST_SMALL(fast_m128_n128_s2, false),
    TILEPOST_SMALL(fast_m256_n128, false),
    TILEPOST_SMALL(precise_m16_n64, false),
    TILEPOST_SMALL(precise_m64_n128_s2, false),
    TILEPOST_SMALL(precise_m128_n128, false),
    TILEPOST_SMALL(bias_silu_m16_n64, false),
    TILEPOST_SMALL(all_gelu_m64_n128_s2, false),
    TILEPOST_SMALL(all_silu_m128_n128, false),
    TILEPOST_SMALL(all_silu_m256_n128, false),
    TILEPOST_SMALL(all_m192_n128_s2, false),
    TILEPOST_SMALL(all_gelu_m96_n64_s3, false),
    TILEPOST_SMALL(f16_scale_residual_m32_n64, false),
    TILEPOST_SMALL(precise_all_silu_m128_n128, false),
    TILEPOST_SMALL(precise_scales_m64_n128_s2, false),
};

inline CUtensorMap make_map(DType type, const void* p, uint64_t inner, uint64_t outer, uint64_t ld,
                            uint32_t box_inner, uint32_t box_outer,
                            CUtensorMapL2promotion promotion) {
  static PFN_cuTensorMapEncodeTiled_v12000 encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                          cudaEnableDefault, &found));
    plain::check(found == cudaDriverEntryPointSuccess, "cuTensorMapEncodeTiled",
                 "not in this driver");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  const CUtensorMapDataType data = type == DType::e4m3  ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : type == DType::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                        : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  CUtensorMap map;
  const cuuint64_t size[2] = {inner, outer}, stride[1] = {ld * (type == DType::e4m3 ? 1 : 2)};
  const cuuint32_t box[2] = {box_inner, box_outer}, step[2] = {1, 1};
  const CUresult result = encode(&map, data, 2, const_cast<void*>(p), size, stride, box, step,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  plain::check(result == CUDA_SUCCESS, "cuTensorMapEncodeTiled", "rejected");
  return map;
}

// The L2 promotion of the tensor maps of A and B.
inline CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;

// One kernel on one problem, ready for a launch. With `overlap` it starts while the kernel before
// it ends.
struct Launch {
  Kernel kernel;
  tilepost_shape_t shape;
  tilepost_epilogue_t epilogue;
  CUtensorMap a, b, c;
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};

  // Uses at most `clusters` clusters; 0: as many as fit.
  Launch(const Kernel& k, const tilepost_shape_t& s, const plain::Operands& o,
         const tilepost_epilogue_t& e, int clusters)
      : kernel(k), shape(s), epilogue(e) {
    const auto none = CU_TENSOR_MAP_L2_PROMOTION_NONE;
    a = make_map(k.element, o.a, s.k, s.m, s.lda, k.tile_k, k.tile_m, promotion);
    b = k.nn ? make_map(k.element, o.b, s.n, s.k, s.ldb, 64, k.tile_k, promotion)
             : make_map(k.element, o.b, s.k, s.n, s.ldb, k.tile_k, k.tile_n, promotion);
    c = make_map(k.output, o.c, s.n, s.m, s.ldc, 64, k.box_m, none);
    CUDA(cudaFuncSetAttribute(k.function, cudaFuncAttributeMaxDynamicSharedMemorySize, k.shared));
    config.blockDim = k.threads;
    config.dynamicSmemBytes = k.shared;
    config.gridDim = k.split_k;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = k.split_k;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    config.numAttrs = k.split_k > 1;
    const int tiles = (s.m + k.tile_m - 1) / k.tile_m * ((s.n + k.tile_n - 1) / k.tile_n);
    config.gridDim = std::min(tiles, clusters > 0 ? clusters : max_clusters()) * k.split_k;
  }

  int max_clusters() {
    int device = 0, sms = 0, clusters = 0;
    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    if (kernel.split_k == 1) return sms;
    config.attrs = attributes;
    CUDA(cudaOccupancyMaxActiveClusters(&clusters, kernel.function, &config));
    return clusters;
  }

  void operator()(cudaStream_t stream, bool overlap = false) {
    config.numAttrs = kernel.split_k > 1;
    if (overlap) {
      cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
      attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attribute.val.programmaticStreamSerializationAllowed = 1;
    }
    config.attrs = attributes;
    config.stream = stream;
    void* arguments[] = {&a, &b, &c, &shape, &epilogue};
    CUDA(cudaLaunchKernelExC(&config, kernel.function, arguments));
  }
};

}  // namespace small

#endif  // TILEPOST_TESTS_GPU_SMALL_KERNELS_CUH
