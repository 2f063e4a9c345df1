// This header comes before ThunderKittens' header of the same name, with the macro that that header
// needs. Tensor maps are encoded by a function that is looked up at run time, so that programs do
// not link a library of the driver's.
#pragma once

#include "../../tensor_map.h"

#define KITTENS_HOPPER

namespace corpus {

inline CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t dimensions,
                             void* from, const cuuint64_t* size, const cuuint64_t* stride,
                             const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                             CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                             CUtensorMapFloatOOBfill) {
  return encode(*map, from, dimensions, size, stride, box, {0, 0, swizzle, type});
}

inline CUresult error_string(CUresult, const char** text) {
  *text = "cuTensorMapEncodeTiled";
  return CUDA_SUCCESS;
}

}  // namespace corpus

#define cuTensorMapEncodeTiled corpus::encode_tiled
#define cuGetErrorString corpus::error_string

#include_next <kittens.cuh>
