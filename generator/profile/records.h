// The measuring program's records (runtime/profile/measure.cpp), as they come and as they are kept.
#pragma once

#include <set>
#include <string>

#include "generator/profile/fit/measurement.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

class ProfileLog {
 public:
  // Takes one line. A line that is no record is ignored. Times count from when their step has
  // ended.
  void take(llvm::StringRef line);

  // The step that has begun last, and the seconds that it takes.
  const std::string& step() const { return step_; }
  double seconds() const { return seconds_; }
  const std::set<std::string>& ended() const { return ended_; }
  const Measurements& measurements() const { return measurements_; }
  // Why the program could not measure anything, or "".
  const std::string& failure() const { return failure_; }

 private:
  Measurements measurements_;
  std::vector<Measurement> open_;  // of the step that has not ended
  std::set<std::string> ended_;
  std::string step_, failure_;
  double seconds_ = 0;
};

}  // namespace tilepost
