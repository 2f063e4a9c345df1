#include "runtime/cuda/device/tensor_maps.h"

#include "runtime/cuda/device/check.h"
#include "runtime/cuda/device/dtypes.h"
#include "runtime/map/patterns.h"
#include "runtime/map/quantised.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost::cuda {
namespace {

struct Matrix {
  const char* name;
  const void* base;
  uint64_t columns, rows;
  tilepost_box_t box;
  tilepost_dtype_t type;
  uint64_t gap = 0;  // how many elements lie between a row's end and the next row
};

CUtensorMapL2promotion promotion(int32_t bytes) {
  switch (bytes) {
    case 64:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case 128:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case 256:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    default:
      return CU_TENSOR_MAP_L2_PROMOTION_NONE;
  }
}

tilepost_result_t encode_matrix(const Driver& driver, const Matrix& matrix, CUtensorMap& map) {
  const cuuint64_t dims[] = {matrix.columns, matrix.rows};
  const cuuint64_t strides[] = {(matrix.columns + matrix.gap) *
                                // Only the outer dimension has a stride.
                                static_cast<cuuint64_t>(element_bytes(matrix.type))};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(matrix.box.columns),
                            static_cast<cuuint32_t>(matrix.box.rows)};
  const cuuint32_t element_strides[] = {1, 1};
  const CUtensorMapSwizzle swizzle =
      matrix.box.swizzle == 0 ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B;
  const CUresult result = driver.encode_tiled(
      &map, library_types(matrix.type).tensor_map, 2, const_cast<void*>(matrix.base), dims, strides,
      box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, promotion(matrix.box.promote),
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return TILEPOST_OK;
  return fail(TILEPOST_CUDA_ERROR,
              "cuTensorMapEncodeTiled → error %d for %s: %llu rows of %llu elements at %p, box "
              "%d x %d (rows must be a multiple of 16 bytes long)",
              static_cast<int>(result), matrix.name, static_cast<unsigned long long>(matrix.rows),
              static_cast<unsigned long long>(matrix.columns), matrix.base, matrix.box.rows,
              matrix.box.columns);
}

// All experts' B below one another. Where rows of gate and up alternate, a row of the matrix has a
// pair of them side by side, so that a box may have rows of one kind alone.
Matrix matrix_of_experts(const tilepost_plan_t& plan, const void* b) {
  const auto k = static_cast<uint64_t>(plan.k), experts = static_cast<uint64_t>(plan.experts);
  const auto rows = static_cast<uint64_t>(rows_of_expert(plan.epilogue, plan.map.n));
  const bool nn = plan.operands == TILEPOST_NN;
  const bool pairs = combines_gate(plan.epilogue) && plan.gate == TILEPOST_GATE_INTERLEAVED;
  if (nn) return {"b", b, rows, experts * k, plan.kernel.box_b, plan.input};
  if (pairs) return {"b", b, 2 * k, experts * rows / 2, plan.kernel.box_b, plan.input};
  return {"b", b, k, experts * rows, plan.kernel.box_b, plan.input};
}

}  // namespace

void TensorMapCache::init(const tilepost_plan_t& plan, const Driver& driver) {
  plan_ = &plan;
  driver_ = &driver;
}

tilepost_result_t TensorMapCache::find(const TensorOperands& operands, const TensorMaps*& maps) {
  for (const Entry& entry : entries_) {
    if (!(entry.operands == operands)) continue;
    maps = &entry.maps;
    return TILEPOST_OK;
  }
  Entry fresh{operands, {}};
  TILEPOST_TRY(encode(fresh));
  entries_[next_] = fresh;
  maps = &entries_[next_].maps;
  next_ = (next_ + 1) % kEntries;
  return TILEPOST_OK;
}

tilepost_result_t TensorMapCache::encode(Entry& entry) const {
  const tilepost_kernel_t& kernel = plan_->kernel;
  const TensorOperands& of = entry.operands;
  const auto n = static_cast<uint64_t>(plan_->map.n), k = static_cast<uint64_t>(plan_->k);
  const bool nn = plan_->operands == TILEPOST_NN;
  const uint64_t c_columns = plan_->map.layout == TILEPOST_PANEL ? n : plan_->map.tile_n;
  const auto a_rows = static_cast<uint64_t>(of.a_rows), c_rows = static_cast<uint64_t>(of.c_rows);
  const Matrix a{"a", of.a, k, a_rows, kernel.box_a, plan_->input};
  const Matrix b = row_of(*plan_).has_experts()
                       ? matrix_of_experts(*plan_, of.b)
                       : Matrix{"b", of.b, nn ? n : k, nn ? k : n, kernel.box_b, plan_->input};
  const tilepost_dtype_t stored = quantises_tiles(*plan_) ? type_of_out(*plan_) : plan_->output;
  const Matrix c{"out", of.c, c_columns, c_rows, kernel.box_c, stored};
  TILEPOST_TRY(encode_matrix(*driver_, a, entry.maps.a));
  TILEPOST_TRY(encode_matrix(*driver_, b, entry.maps.b));
  return encode_matrix(*driver_, c, entry.maps.c);
}

tilepost_result_t encode_input(const Driver& driver, const tilepost_plan_t& plan, void* base,
                               int64_t rows, CUtensorMap& map) {
  const Matrix in{
      "gathered",        base,      static_cast<uint64_t>(plan.k), static_cast<uint64_t>(rows),
      plan.kernel.box_a, plan.input};
  return encode_matrix(driver, in, map);
}

tilepost_result_t encode_output(const Driver& driver, const tilepost_plan_t& plan, const void* base,
                                int64_t rows, int64_t gap, CUtensorMap& map) {
  const Matrix out{"a rank's rows",
                   base,
                   static_cast<uint64_t>(plan.map.n),
                   static_cast<uint64_t>(rows),
                   plan.kernel.box_c,
                   plan.output,
                   static_cast<uint64_t>(gap)};
  return encode_matrix(driver, out, map);
}

}  // namespace tilepost::cuda
