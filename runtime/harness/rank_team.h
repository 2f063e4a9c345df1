// A thread for each rank. The threads go through a check in step with each other.
#pragma once

#include <barrier>
#include <functional>
#include <mutex>
#include <string>

namespace tilepost::harness {

// The shared state of the ranks of one check. A rank that fails in a step still meets the others at
// the end of the step, so that no rank waits for it in vain.
class RankTeam {
 public:
  explicit RankTeam(int ranks) : ranks_(ranks), barrier_(ranks) {}

  // Calls body(rank) on one thread for each rank, and returns when all calls have returned.
  void run(const std::function<void(int)>& body);

  // Runs `step` on this rank, unless some rank has already failed. An exception of `step` becomes a
  // failure. Then waits for all other ranks. Returns true if no rank has failed.
  bool step(int rank, const std::function<void()>& step);

  // Records a failure. Only the first one is kept.
  void fail(const std::string& text);

  // After run(): the text of the first failure, or "".
  const std::string& failure() const { return failure_; }

 private:
  bool failed();

  const int ranks_;
  std::barrier<> barrier_;
  std::mutex mutex_;
  std::string failure_;
};

}  // namespace tilepost::harness
