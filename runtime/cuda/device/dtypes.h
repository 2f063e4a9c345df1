// The names of dtypes in CUDA's and NCCL's libraries: a row for each dtype, in the order of kDtypes
// (tilepost/dtype.h).
#pragma once

#include <cuda.h>
#include <library_types.h>
#include <nccl.h>

#include "tilepost/dtype.h"

namespace tilepost::cuda {

// Elements of 8 bits are only ever moved, never summed by NCCL or on their way. So NCCL and tensor
// maps treat them as bytes.
struct LibraryTypes {
  tilepost_dtype_t type;
  cudaDataType_t cublas;
  CUtensorMapDataType tensor_map;
  ncclDataType_t nccl;
};

inline constexpr LibraryTypes kLibraryTypes[] = {
    {TILEPOST_BF16, CUDA_R_16BF, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, ncclBfloat16},
    {TILEPOST_F16, CUDA_R_16F, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, ncclFloat16},
    {TILEPOST_E4M3, CUDA_R_8F_E4M3, CU_TENSOR_MAP_DATA_TYPE_UINT8, ncclUint8},
    {TILEPOST_F32, CUDA_R_32F, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, ncclFloat32},
};
static_assert(std::size(kLibraryTypes) == kNumDtypes &&
              is_in_order(kLibraryTypes, &LibraryTypes::type));

constexpr const LibraryTypes& library_types(tilepost_dtype_t type) {
  return kLibraryTypes[type];
}

}  // namespace tilepost::cuda
