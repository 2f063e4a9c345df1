// One operation to its caller, made of an operation for each range of m (ranges.h). This class is
// the same for every target. The target makes the operations of the ranges together, collectively
// and in one order. It ensures that their runs follow each other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/core/object.h"

namespace tilepost {

class RangedOp final : public tilepost_op {
 public:
  // An operation for one range. It serves runs of at most `most_rows` rows that no later part
  // serves.
  struct Part {
    int64_t most_rows;
    std::unique_ptr<tilepost_op> op;
  };

  // `parts` has at least two parts, each for fewer rows than the part before.
  explicit RangedOp(std::vector<Part> parts);

  tilepost_result_t run(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) override;
  tilepost_result_t register_output(void* buffer, int64_t bytes) override;
  tilepost_result_t unregister_output(const void* buffer) override;
  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  tilepost_result_t get_info(tilepost_op_info_t& info) override;
  void add_memory(tilepost_memory_t& memory) override;
  tilepost_result_t find_overlap(int64_t m, bool& overlaps) override;
  tilepost_result_t record_timeline() override;
  tilepost_result_t write_timeline(const char* path) override;
  const char* warnings() override { return warnings_.c_str(); }

 private:
  using Call = tilepost_result_t (tilepost_op::*)();

  tilepost_op& first() const { return *ops_.front(); }
  tilepost_result_t worst_of(Call call);
  tilepost_result_t with_reason(tilepost_result_t result);
  std::vector<tilepost_op*> registering() const;

  std::vector<std::unique_ptr<tilepost_op>> ops_;
  std::vector<int64_t> most_rows_;  // [parts] Part::most_rows
  std::string warnings_;
  size_t last_ = 0;  // the part whose run was called last
};

}  // namespace tilepost
