#include "tests/runtime/order.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/runtime/fakes.h"

namespace order {

Order::Order() {
  std::map<size_t, const void*> events;
  for (const fakes::Link& link : fakes::world().links) events[link.line] = link.event;
  std::map<std::string, std::set<size_t>> streams;
  std::map<const void*, std::set<size_t>> recorded;
  for (size_t i = 0; i < fakes::world().log.size(); ++i) {
    const std::string& line = fakes::world().log[i];
    std::istringstream words(line);
    std::string call, stream;
    words >> call >> stream;
    std::set<size_t>& past = streams[stream];
    if (call == "cudaEventRecord") {
      recorded[events[i]] = past;
    } else if (call == "cudaStreamWaitEvent") {
      past.insert(recorded[events[i]].begin(), recorded[events[i]].end());
    } else if (!stream.empty()) {
      calls_.push_back({line, i, past});
      past.insert(calls_.size() - 1);
    }
  }
  user_past_ = streams["user"];
}

std::vector<size_t> Order::all(const std::string& call) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i].line.rfind(call + " ", 0) == 0) found.push_back(i);
  return found;
}

bool Order::before(const std::string& call, int n, const std::string& other, int m) const {
  return calls_[all(other).at(static_cast<size_t>(m))].past.contains(
      all(call).at(static_cast<size_t>(n)));
}

bool Order::all_before(const std::string& call, const std::string& other) const {
  for (int n = 0; n < count(call); ++n)
    for (int m = 0; m < count(other); ++m)
      if (!before(call, n, other, m)) return false;
  return count(call) > 0 && count(other) > 0;
}

bool Order::joined(const std::string& call) const {
  const std::vector<size_t> calls = all(call);
  return !calls.empty() &&
         std::ranges::all_of(calls, [this](size_t i) { return user_past_.contains(i); });
}

bool Order::all_behind_user(size_t from) const {
  return std::ranges::all_of(calls_, [&](const Call& call) {
    return call.logged < from || std::ranges::all_of(user_past_, [&](size_t i) {
             return calls_[i].line.rfind("gemm", 0) == 0 || call.past.contains(i);
           });
  });
}

bool Order::none_behind_user(size_t from) const {
  return std::ranges::all_of(calls_, [&](const Call& call) {
    return call.logged < from ||
           std::ranges::none_of(user_past_, [&](size_t i) { return call.past.contains(i); });
  });
}

}  // namespace order
