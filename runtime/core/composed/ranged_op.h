// One operation to its caller, made of an operation for each range of m (ranges.h). The target
// ensures that their runs follow each other.
#pragma once

#include <memory>
#include <vector>

#include "runtime/core/composed/composed_op.h"

namespace tilepost {

class RangedOp final : public ComposedOp {
 public:
  // An operation for one range. It serves runs of at most `most_rows` rows that no later part
  // serves.
  struct Part {
    int64_t most_rows;
    std::unique_ptr<tilepost_op> op;
  };

  // `parts` has at least two parts, each for fewer rows than the part before.
  explicit RangedOp(std::vector<Part> parts);

  tilepost_result_t check(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t run(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) override;
  tilepost_result_t register_output(void* buffer, int64_t bytes) override;
  tilepost_result_t unregister_output(const void* buffer) override;
  tilepost_result_t get_info(tilepost_op_info_t& info) override;
  tilepost_result_t find_overlap(int64_t m, bool& overlaps) override;
  tilepost_result_t record_timeline() override;
  tilepost_result_t write_timeline(const char* path) override;

 private:
  std::vector<tilepost_op*> registering() const;

  std::vector<int64_t> most_rows_;  // [parts] Part::most_rows
  size_t last_ = 0;                 // the part whose run was called last
};

}  // namespace tilepost
