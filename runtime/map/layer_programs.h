// The program of a layer of experts, which is two programs in one: its plans are those of the first
// half (dispatch_grouped_gemm), then those of the second (grouped_gemm_combine).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "runtime/map/stored_value.h"
#include "tilepost/plan.h"

namespace tilepost {

inline std::span<const tilepost_plan_t> plans_of(const tilepost_program_t& program) {
  return {program.plans, static_cast<size_t>(program.num_plans)};
}

// Whether a plan, which need not have been checked, is one of the second half.
inline bool is_of_second_half(const tilepost_plan_t& plan) {
  return stored_value(plan.pattern) == TILEPOST_GROUPED_GEMM_COMBINE;
}

// Whether the program is that of a layer. Its plans need not have been checked.
inline bool is_layer(const tilepost_program_t& program) {
  if (program.num_plans < 2 || program.plans == nullptr) return false;
  return stored_value(program.plans[0].pattern) == TILEPOST_DISPATCH_GROUPED_GEMM &&
         is_of_second_half(plans_of(program).back());
}

// The two halves of a layer's program, each of which is a program.
class LayerPrograms {
 public:
  // Requires is_layer(program).
  explicit LayerPrograms(const tilepost_program_t& program) {
    halves_[0] = halves_[1] = program;
    const std::span<const tilepost_plan_t> plans = plans_of(program);
    const auto border = std::ranges::find_if(plans, is_of_second_half);
    halves_[0].num_plans = static_cast<int32_t>(border - plans.begin());
    halves_[1].num_plans = program.num_plans - halves_[0].num_plans;
    halves_[1].plans += halves_[0].num_plans;
  }

  const tilepost_program_t& first() const { return halves_[0]; }
  const tilepost_program_t& second() const { return halves_[1]; }
  std::span<const tilepost_program_t> both() const { return halves_; }

 private:
  tilepost_program_t halves_[2] = {};
};

}  // namespace tilepost
