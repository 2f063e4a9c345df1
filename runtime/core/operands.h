// Which of a run's operands a plan reads besides a, b and out. This is the same for every target.
#pragma once

#include <span>

#include "tilepost/tilepost.h"

namespace tilepost {

// Alignment of matrices and vectors, in bytes: kernels may read rows in vectors of this size.
constexpr size_t kVectorAlignment = 16;

// One operand of a plan's epilogue or consumer, or of its kernel.
struct EpilogueOperand {
  const char* name;  // "bias"
  const void* pointer;
  size_t alignment;  // bytes
  const char* reader = "epilogue";
};

// Checks that the pointer is a multiple of the alignment.
tilepost_result_t check_alignment(const EpilogueOperand& operand);

// The operands that the plan reads on this rank: those of its epilogue and its consumer, the user
// data of its kernel, and `gathered` if it was given.
class EpilogueOperands {
 public:
  EpilogueOperands(const tilepost_plan_t& plan, int rank, const tilepost_run_operands_t& operands);

  // TILEPOST_INVALID_ARGUMENT: an operand is null, which the error names, or norm_epsilon is wrong.
  tilepost_result_t check() const;

  std::span<const EpilogueOperand> list() const { return {list_, count_}; }

  // The operands as the kernel takes them, without `out`. What the epilogue does not read is null.
  const tilepost_epilogue_t& for_kernel() const { return for_kernel_; }

 private:
  static constexpr size_t kMost = 8 + TILEPOST_MOST_USER_DATA;

  template <class T>
  void add(const char* name, const T* pointer, size_t alignment, const T*& kernel_pointer);
  void add_for_consumer(const char* name, const void* pointer);

  EpilogueOperand list_[kMost]{};
  size_t count_ = 0;
  tilepost_epilogue_t for_kernel_{};
  float epsilon_ = 0;
};

// Sets `rows` to how many rows the run has. `asked` is tilepost_run_operands_t::m. `routed` is the
// rows of the last route, or -1 before the first one, and is not looked at unless the plan is
// routed.
tilepost_result_t rows_of_run(const tilepost_plan_t& plan, int64_t asked, int64_t routed,
                              int64_t& rows);

}  // namespace tilepost
