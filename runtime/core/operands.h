// Which operands a run reads and writes, and how many rows of each. This code is the same for every
// target.
#pragma once

#include <span>

#include "runtime/schedule/run_map.h"
#include "tilepost/tilepost.h"

namespace tilepost {

// The alignment of matrices and vectors, in bytes. Kernels may read rows in vectors of this size.
constexpr size_t kVectorAlignment = 16;

// How many rows a rank has in a run.
struct RowsOfRank {
  int64_t a = 0;        // rows of `a`, which the rank brings
  int64_t product = 0;  // rows that the rank multiplies, and rows of `gathered`
  int64_t out = 0;      // rows of `out`, without padding
};

// The rows of a rank in a run of m rows. It is not for routed plans.
RowsOfRank rows_of_rank_in(const tilepost_plan_t& plan, int rank, int64_t m);
// The rows of a rank in a routed run.
RowsOfRank rows_of_rank_in(const tilepost_plan_t& plan, int rank, const RunMap& routed);

// One operand of a run on this rank.
struct RunOperand {
  const char* name;  // such as "bias"
  const void* pointer;
  size_t alignment;    // bytes
  int64_t bytes;       // how many bytes the run reads or writes at `pointer`, or kUnknownBytes
  const char* reader;  // the part of the plan that reads the operand, such as "epilogue"; empty if
                       // every run does
  bool written = false;

  static constexpr int64_t kUnknownBytes = -1;  // at least one byte, in a form that only the kernel
                                                // knows

  // Whether the run reads or writes the operand. If not, it may be null, and no check looks at it.
  bool is_used() const { return bytes != 0; }
};

// Checks that the pointer is a multiple of the alignment. `name` is for the error.
tilepost_result_t check_alignment(const char* name, const void* pointer, size_t alignment);

// The operands that the plan reads and writes in a run on this rank: a, b, out, those of its
// epilogue and its consumer, the user data of its kernel, and `gathered` if the caller passes it.
class RunOperands {
 public:
  RunOperands(const tilepost_plan_t& plan, int rank, const RowsOfRank& rows,
              const tilepost_run_operands_t& operands);

  // TILEPOST_INVALID_ARGUMENT: an operand is null or misaligned, or norm_epsilon is wrong. The
  // error names the operand.
  tilepost_result_t check() const;

  // The operands that are used.
  std::span<const RunOperand> list() const { return {list_, count_}; }

  // The operands as the kernel takes them, without `out`. Operands that the epilogue does not read
  // are null.
  const tilepost_epilogue_t& for_kernel() const { return for_kernel_; }

  // The caller's operands, with `place` for those of a, b and out that are not used. `place` is an
  // address that may be handed on like any other.
  tilepost_run_operands_t with_place(void* place) const;

 private:
  static constexpr size_t kMost = 11 + TILEPOST_MOST_USER_DATA;

  void add(const RunOperand& operand);
  void add_matrices(const tilepost_plan_t& plan, const RowsOfRank& rows);
  void add_epilogue(const tilepost_plan_t& plan, int rank, const RowsOfRank& rows);
  void add_consumer(const tilepost_plan_t& plan, const RowsOfRank& rows);
  void add_user_data(const tilepost_plan_t& plan, const RowsOfRank& rows);
  bool uses(const char* name) const;

  const tilepost_run_operands_t given_;
  RunOperand list_[kMost]{};
  size_t count_ = 0;
  tilepost_epilogue_t for_kernel_{};
  float epsilon_ = 0;
};

// Sets `rows` to the number of rows of the run. `asked` is tilepost_run_operands_t::m. `routed` is
// the number of rows of the last route, or -1 before the first one. It is read only if the plan is
// routed.
tilepost_result_t rows_of_run(const tilepost_plan_t& plan, int64_t asked, int64_t routed,
                              int64_t& rows);

}  // namespace tilepost
