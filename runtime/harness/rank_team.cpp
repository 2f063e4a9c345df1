#include "runtime/harness/rank_team.h"

#include <exception>
#include <thread>
#include <vector>

namespace tilepost::harness {

void RankTeam::run(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks_; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

bool RankTeam::step(int rank, const std::function<void()>& step) {
  // No rank enters the step before all have read the state of the step before, so all agree on
  // `skip`.
  const bool skip = failed();
  barrier_.arrive_and_wait();
  if (!skip) {
    try {
      step();
    } catch (const std::exception& error) {
      fail("rank " + std::to_string(rank) + ": " + error.what());
    }
  }
  barrier_.arrive_and_wait();
  return !failed();
}

void RankTeam::fail(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = text;
}

bool RankTeam::failed() {
  const std::lock_guard lock(mutex_);
  return !failure_.empty();
}

}  // namespace tilepost::harness
