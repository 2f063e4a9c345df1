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
  int64_t tokens = 0;   // where tokens go to experts: the most tokens that the rank has
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
  int64_t bytes;       // that the run reads or writes there, or at least so many; kUnknownBytes
  const char* reader;  // what of the plan asks for it: "epilogue"; empty if every run does
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

  // TILEPOST_INVALID_ARGUMENT: an operand is null or misaligned, or lies over one that the run
  // writes, which the error names, or norm_epsilon is wrong. a may lie over `gathered` here:
  // check_gathered() says where.
  tilepost_result_t check() const;

  // Checks that nothing that these operands write lies over one of `other`, another part of the
  // run, but for `between`, which one part writes for the other.
  tilepost_result_t check_apart_from(const RunOperands& other, const void* between) const;

  // Gives an operand another name in errors.
  void rename(const char* name, const char* as);

  // The operands that are used.
  std::span<const RunOperand> list() const { return {list_, count_}; }

  // The operands as the kernel takes them, without `out`. Operands that the epilogue does not read
  // are null.
  const tilepost_epilogue_t& for_kernel() const { return for_kernel_; }

  // The caller's operands, with `place` for those of a, b and out that are not used. `place` is an
  // address that may be handed on like any other.
  tilepost_run_operands_t with_place(void* place) const;

 private:
  static constexpr size_t kMost = 13 + TILEPOST_MOST_USER_DATA;

  void add(const RunOperand& operand);
  void add_matrices(const tilepost_plan_t& plan, const RowsOfRank& rows);
  void add_scales(const tilepost_plan_t& plan, const RowsOfRank& rows);
  void add_scales_of_out(const tilepost_plan_t& plan, const RowsOfRank& rows);
  void add_epilogue(const tilepost_plan_t& plan, int rank, const RowsOfRank& rows);
  void add_consumer(const tilepost_plan_t& plan, const RowsOfRank& rows);
  void add_user_data(const tilepost_plan_t& plan, const RowsOfRank& rows);
  bool uses(const char* name) const;
  tilepost_result_t check_apart() const;
  bool may_overlap(const RunOperand& written, const RunOperand& other) const;

  const tilepost_run_operands_t given_;
  RunOperand list_[kMost]{};
  size_t count_ = 0;
  tilepost_epilogue_t for_kernel_{};
  float epsilon_ = 0;
  bool product_stays_;  // a product's row is stored where it is in the output
};

// Checks that a does not overlap `gathered`, to which other ranks' rows are written while a is
// read, unless a is this rank's rows in their place in `gathered`.
tilepost_result_t check_gathered(const tilepost_plan_t& plan,
                                 const tilepost_run_operands_t& operands, const RunMap& run);

// Sets `rows` to how many rows the run has. `asked` is tilepost_run_operands_t::m. `routed` is the
// rows of the last route, or -1 before the first one, and is not looked at unless the plan is
// routed.
tilepost_result_t rows_of_run(const tilepost_plan_t& plan, int64_t asked, int64_t routed,
                              int64_t& rows);

// Whether a run overlaps for which the caller passes `asked` rows. `routed` is the run of the route
// that was set last, or null before the first. The errors are those of rows_of_run.
tilepost_result_t find_overlap(const tilepost_plan_t& plan, int64_t asked, const RunMap* routed,
                               bool& overlaps);

}  // namespace tilepost
