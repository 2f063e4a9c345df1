// The outcome of a check.
#pragma once

#include <string>

namespace tilepost::verify {

// One line of the report.
struct CheckResult {
  bool ok = false;
  std::string text;  // such as "exact: 8256 elements equal, 3 runs", or what went wrong and where
};

}  // namespace tilepost::verify
