// Makes tensor maps with the driver's function, which is looked up at run time, so that programs do
// not link a library of the driver's.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

namespace corpus {

struct Box {
  unsigned columns, rows;
  CUtensorMapSwizzle swizzle;
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
};

inline CUresult encode(CUtensorMap& map, const void* from, unsigned dimensions,
                       const cuuint64_t* size, const cuuint64_t* stride, const cuuint32_t* box,
                       const Box& of) {
  static PFN_cuTensorMapEncodeTiled_v12000 function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault,
                                     &result);
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(found);
  }();
  if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
  const cuuint32_t step[] = {1, 1, 1, 1, 1};
  return function(&map, of.type, dimensions, const_cast<void*>(from), size, stride, box, step,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, of.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// Describes rows of `columns` elements.
inline CUresult describe(CUtensorMap& map, const void* from, long long rows, long long columns,
                         const Box& box) {
  const unsigned bytes = box.type == CU_TENSOR_MAP_DATA_TYPE_UINT8     ? 1
                         : box.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? 4
                                                                       : 2;
  const cuuint64_t size[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t stride[] = {static_cast<cuuint64_t>(columns) * bytes};
  const cuuint32_t boxes[] = {box.columns, box.rows};
  return encode(map, from, 2, size, stride, boxes, box);
}

// Describes rows like describe(), but in three dimensions: as panels of 64 columns.
inline CUresult describe_panels(CUtensorMap& map, const void* from, long long rows,
                                long long columns, const Box& box) {
  const cuuint64_t size[] = {64, static_cast<cuuint64_t>(rows),
                             static_cast<cuuint64_t>(columns) / 64};
  const cuuint64_t stride[] = {static_cast<cuuint64_t>(columns) * 2, 128};
  const cuuint32_t boxes[] = {box.columns, box.rows, 1};
  return encode(map, from, 3, size, stride, boxes, box);
}

}  // namespace corpus
