// A place where ranks that are threads of one process wait for each other on the host, with no work
// on their devices. So what a rank does before it comes here may wait for all of these devices.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/core/error.h"

namespace tilepost::cuda {

class ProcessMeeting {
 public:
  // A new number, unique in this process. Ranks exchange their numbers before they meet.
  static int64_t new_seat();

  // A meeting of the ranks of this process that have the seats `seats`, in any order.
  explicit ProcessMeeting(std::vector<int64_t> seats);
  ProcessMeeting(const ProcessMeeting&) = delete;
  ProcessMeeting& operator=(const ProcessMeeting&) = delete;
  ~ProcessMeeting();

  // Returns when all ranks of the meeting have come as often as this one. Calls `check()` every so
  // often meanwhile, and returns its error. Returns TILEPOST_TIMEOUT, without a text, after
  // `seconds` (0: never).
  tilepost_result_t meet(double seconds, const std::function<tilepost_result_t()>& check);

 private:
  int64_t room_ = 0;  // the first of the seats
  int64_t ranks_ = 0, rounds_ = 0;
};

}  // namespace tilepost::cuda
