#include "runtime/core/operands.h"

#include <cinttypes>
#include <cmath>

#include "runtime/core/error.h"
#include "runtime/schedule/run_map.h"

namespace tilepost {

tilepost_result_t check_alignment(const EpilogueOperand& operand) {
  const auto address = reinterpret_cast<uintptr_t>(operand.pointer);
  if (address % operand.alignment == 0) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "%s must be a multiple of %zu bytes, got 0x%" PRIxPTR ", which is %" PRIuPTR
              " bytes past one",
              operand.name, operand.alignment, address, address % operand.alignment);
}

template <class T>
void EpilogueOperands::add(const char* name, const T* pointer, size_t alignment,
                           const T*& kernel_pointer) {
  list_[count_++] = {name, pointer, alignment};
  kernel_pointer = pointer;
}

void EpilogueOperands::add_for_consumer(const char* name, const void* pointer) {
  list_[count_++] = {name, pointer, kVectorAlignment, "consumer"};
}

// Where ranks are summed, only rank 0 adds the bias.
EpilogueOperands::EpilogueOperands(const tilepost_plan_t& plan, int rank,
                                   const tilepost_run_operands_t& operands) {
  const int ops = plan.epilogue;
  const bool adds_bias = !row_of(plan).sums || rank == 0;
  if ((ops & (TILEPOST_SCALE | TILEPOST_SCALE_ROWS)) != 0)
    add("scale_a", operands.scale_a, alignof(float), for_kernel_.scale_a);
  if ((ops & (TILEPOST_SCALE | TILEPOST_SCALE_COLUMNS)) != 0)
    add("scale_b", operands.scale_b, alignof(float), for_kernel_.scale_b);
  if ((ops & TILEPOST_BIAS) != 0 && adds_bias)
    add("bias", operands.bias, kVectorAlignment, for_kernel_.bias);
  if ((ops & TILEPOST_RESIDUAL) != 0)
    add("residual", operands.residual, kVectorAlignment, for_kernel_.residual);
  if (normalises(plan)) {
    add_for_consumer("norm_weight", operands.norm_weight);
    epsilon_ = operands.norm_epsilon;
  }
  if (plan.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM)
    add_for_consumer("norm_residual", operands.norm_residual);
  const auto* const user = static_cast<const void* const*>(operands.user);
  for (int i = 0; i < plan.kernel.num_user; ++i)
    list_[count_++] = {plan.kernel.user[i], user == nullptr ? nullptr : user[i], kVectorAlignment,
                       "kernel"};
  if (row_of(plan).moves_input() && operands.gathered != nullptr)
    list_[count_++] = {"gathered", operands.gathered, kVectorAlignment};
}

tilepost_result_t EpilogueOperands::check() const {
  for (const EpilogueOperand& operand : list())
    if (operand.pointer == nullptr)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "%s is null, but the plan's %s reads it; pass it to tilepost_op_run_with",
                  operand.name, operand.reader);
  if (std::isfinite(epsilon_) && epsilon_ >= 0) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT, "norm_epsilon must be finite and at least 0, got %g",
              static_cast<double>(epsilon_));
}

tilepost_result_t rows_of_run(const tilepost_plan_t& plan, int64_t asked, int64_t routed,
                              int64_t& rows) {
  const int64_t most = rows_of_runs(plan);
  rows = asked == 0 ? most : asked;
  if (is_routed(plan)) {
    if (routed < 0)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "the plan's rows are routed at run time; call tilepost_op_route before the first "
                  "run");
    rows = routed;
    if (asked == 0 || asked == routed) return TILEPOST_OK;
    return fail(TILEPOST_INVALID_ARGUMENT,
                "m is %" PRId64 ", the route has %" PRId64 " rows; pass 0, or set another route",
                asked, routed);
  }
  if (rows >= 1 && rows <= most && (rows == most || plan.any_m != 0)) return TILEPOST_OK;
  if (plan.any_m != 0)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "m must be from 1 to %" PRId64 ", or 0 for %" PRId64 ", got %" PRId64, most, most,
                asked);
  return fail(TILEPOST_INVALID_ARGUMENT,
              "m is %" PRId64 ", the plan is for %" PRId64
              " rows only; generate it with 'm: {max: …}' for any number of them",
              asked, most);
}

}  // namespace tilepost
