// Limits how much of a kernel is followed. A kernel that exceeds a limit is refused, and the
// message names the limit.
#pragma once

#include "generator/infer/source/names.h"
#include "generator/infer/state/access_log.h"
#include "generator/infer/state/course.h"

namespace tilepost::inference {

constexpr size_t kMaxCalls = 48;  // how deep calls may be nested

class Budget {
 public:
  Budget(const Nodes& nodes, const AccessLog& log, Course& course)
      : nodes_(nodes), log_(log), course_(course) {}

  // Counts a statement or an expression. Returns whether it is to be run.
  bool step(Where where);

 private:
  const Nodes& nodes_;
  const AccessLog& log_;
  Course& course_;
  int steps_ = 0;
};

}  // namespace tilepost::inference
