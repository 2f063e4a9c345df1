// What a plan's epilogue takes of a run's operands, the same for every target.
#pragma once

#include <span>

#include "tilepost/tilepost.h"

namespace tilepost {

// One operand of a plan's epilogue.
struct EpilogueOperand {
  const char* name;  // "bias"
  const void* pointer;
  size_t alignment;  // bytes
};

// The operands that the plan's epilogue reads on this rank.
class EpilogueOperands {
 public:
  EpilogueOperands(const tilepost_plan_t& plan, int rank, const tilepost_run_operands_t& operands);

  // TILEPOST_INVALID_ARGUMENT names the one that is null.
  tilepost_result_t check() const;

  std::span<const EpilogueOperand> list() const { return {list_, count_}; }

  // As the kernel takes them; what the epilogue does not read is null.
  const tilepost_epilogue_t& for_kernel() const { return for_kernel_; }

 private:
  static constexpr size_t kMost = 4;

  template <class T>
  void add(const char* name, const T* pointer, size_t alignment, const T*& kernel_pointer);

  EpilogueOperand list_[kMost]{};
  size_t count_ = 0;
  tilepost_epilogue_t for_kernel_{};
};

}  // namespace tilepost
