// One operation to its caller, made of several. This class is the same for every target. The target
// makes the parts together, collectively and in one order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/core/object.h"

namespace tilepost {

class ComposedOp : public tilepost_op {
 public:
  using Ops = std::vector<std::unique_ptr<tilepost_op>>;

  // `used` is what the parts use while they exist; it may be null.
  explicit ComposedOp(Ops ops, std::shared_ptr<const void> used = nullptr);

  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  void add_memory(tilepost_memory_t& memory) override;
  const char* warnings() override { return warnings_.c_str(); }

 protected:
  const Ops& ops() const { return ops_; }
  tilepost_op& first() const { return *ops_.front(); }

  // Whether a part's result is the reason of a failure, and not that the failure aborted the part.
  static bool is_reason(tilepost_result_t result);

  // Adds the reason to the error of a part that was aborted because another part failed. The
  // aborted part does not know the reason.
  tilepost_result_t with_reason(tilepost_result_t result);

  // get_info() of one part, with the memory of all parts.
  tilepost_result_t info_of(tilepost_op& part, tilepost_op_info_t& info);

 private:
  using Call = tilepost_result_t (tilepost_op::*)();

  tilepost_result_t worst_of(Call call);

  const std::shared_ptr<const void> used_;  // freed after the parts
  Ops ops_;
  std::string warnings_;
};

}  // namespace tilepost
