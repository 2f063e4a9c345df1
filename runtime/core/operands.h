// Which operands a run reads and writes, and how many rows of them. This is the same for every
// target.
#pragma once

#include <span>

#include "runtime/schedule/run_map.h"
#include "tilepost/tilepost.h"

namespace tilepost {

// Alignment of matrices and vectors, in bytes: kernels may read rows in vectors of this size.
constexpr size_t kVectorAlignment = 16;

// The rows that a rank has in a run.
struct RowsOfRank {
  int64_t a = 0;        // of `a`, which the rank brings
  int64_t product = 0;  // that the rank multiplies, of `gathered` too
  int64_t out = 0;      // of `out`, in order, without padding
};

// Those of a run of m rows; not for routed plans.
RowsOfRank rows_of_rank_in(const tilepost_plan_t& plan, int rank, int64_t m);
// Those of a routed run.
RowsOfRank rows_of_rank_in(const tilepost_plan_t& plan, int rank, const RunMap& routed);

// One operand of a run on this rank.
struct RunOperand {
  const char* name;  // "bias"
  const void* pointer;
  size_t alignment;    // bytes
  int64_t bytes;       // how many the run reads or writes there; kUnknownBytes
  const char* reader;  // what of the plan asks for it: "epilogue"; empty if every run does
  bool written = false;

  static constexpr int64_t kUnknownBytes = -1;  // some, in a form that only the kernel knows

  // An operand of which no byte is read or written may be null, and is not looked at.
  bool is_used() const { return bytes != 0; }
};

// Checks that the pointer is a multiple of the alignment.
tilepost_result_t check_alignment(const char* name, const void* pointer, size_t alignment);

// The operands that the plan reads and writes in a run on this rank: a, b, out, those of its
// epilogue and its consumer, the user data of its kernel, and `gathered` if it was given.
class RunOperands {
 public:
  RunOperands(const tilepost_plan_t& plan, int rank, const RowsOfRank& rows,
              const tilepost_run_operands_t& operands);

  // TILEPOST_INVALID_ARGUMENT: an operand is null or misaligned, which the error names, or
  // norm_epsilon is wrong.
  tilepost_result_t check() const;

  // The operands that are used.
  std::span<const RunOperand> list() const { return {list_, count_}; }

  // The operands as the kernel takes them, without `out`. What the epilogue does not read is null.
  const tilepost_epilogue_t& for_kernel() const { return for_kernel_; }

  // The caller's operands, with `place` for a, b and out where they are not used: an address that
  // may be handed on as any other.
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

// Sets `rows` to how many rows the run has. `asked` is tilepost_run_operands_t::m. `routed` is the
// rows of the last route, or -1 before the first one, and is not looked at unless the plan is
// routed.
tilepost_result_t rows_of_run(const tilepost_plan_t& plan, int64_t asked, int64_t routed,
                              int64_t& rows);

}  // namespace tilepost
