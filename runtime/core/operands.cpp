#include "runtime/core/operands.h"

#include "runtime/core/error.h"

namespace tilepost {
namespace {

constexpr size_t kVectorAlignment = 16;  // kernels may read rows in vectors

}  // namespace

template <class T>
void EpilogueOperands::add(const char* name, const T* pointer, size_t alignment,
                           const T*& kernel_pointer) {
  list_[count_++] = {name, pointer, alignment};
  kernel_pointer = pointer;
}

// Where ranks are summed, one of them adds the bias.
EpilogueOperands::EpilogueOperands(const tilepost_plan_t& plan, int rank,
                                   const tilepost_run_operands_t& operands) {
  const int ops = plan.epilogue;
  const bool adds_bias = plan.pattern == TILEPOST_GEMM || rank == 0;
  if ((ops & (TILEPOST_SCALE | TILEPOST_SCALE_ROWS)) != 0)
    add("scale_a", operands.scale_a, alignof(float), for_kernel_.scale_a);
  if ((ops & (TILEPOST_SCALE | TILEPOST_SCALE_COLUMNS)) != 0)
    add("scale_b", operands.scale_b, alignof(float), for_kernel_.scale_b);
  if ((ops & TILEPOST_BIAS) != 0 && adds_bias)
    add("bias", operands.bias, kVectorAlignment, for_kernel_.bias);
  if ((ops & TILEPOST_RESIDUAL) != 0)
    add("residual", operands.residual, kVectorAlignment, for_kernel_.residual);
}

tilepost_result_t EpilogueOperands::check() const {
  for (const EpilogueOperand& operand : list())
    if (operand.pointer == nullptr)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "%s is null, but the plan's epilogue reads it; pass it to tilepost_op_run_with",
                  operand.name);
  return TILEPOST_OK;
}

}  // namespace tilepost
