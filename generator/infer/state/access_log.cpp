#include "generator/infer/state/access_log.h"

#include <algorithm>

namespace tilepost::inference {

void AccessLog::note(bool stores, const Access& access) {
  const bool known = !access.by_warp &&
                     !accesses_.emplace(stores, access.address, access.guard, access.width).second;
  if (!known) (stores ? effects_.stores : effects_.reads).push_back(access);
}

void AccessLog::add_rows(bool stores, int64_t rows, NodeId pitch) {
  Access& last = (stores ? effects_.stores : effects_.reads).back();
  last.rows = rows;
  last.pitch = pitch;
}

void AccessLog::note(const Meeting& meeting) {
  const auto same = [&](const Meeting& other) {
    return other.guard == meeting.guard && other.unsure == meeting.unsure &&
           other.gone == meeting.gone && other.of_warp == meeting.of_warp &&
           other.lanes == meeting.lanes;
  };
  if (std::ranges::none_of(effects_.meetings, same)) effects_.meetings.push_back(meeting);
}

void AccessLog::run_once(Where where, const std::string& what) {
  if (!runs_once_) runs_once_ = InferredPlace{where, what};
}

}  // namespace tilepost::inference
