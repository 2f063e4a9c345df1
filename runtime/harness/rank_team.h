// A thread per rank that goes through a check in step with the others.
#pragma once

#include <barrier>
#include <functional>
#include <mutex>
#include <string>

namespace tilepost::harness {

// What the ranks of one check share. A rank that fails goes on meeting the others, so that none
// waits for it in vain.
class RankTeam {
 public:
  explicit RankTeam(int ranks) : ranks_(ranks), barrier_(ranks) {}

  // Calls body(rank) on a thread per rank and returns when all have returned.
  void run(const std::function<void(int)>& body);

  // Runs `step` on this rank, turning what it throws into a failure, unless some rank has already
  // failed; then meets the others. True: no rank has failed.
  bool step(int rank, const std::function<void()>& step);

  // Keeps the first failure.
  void fail(const std::string& text);

  // After run(): "" or what the first rank to fail said.
  const std::string& failure() const { return failure_; }

 private:
  bool failed();

  const int ranks_;
  std::barrier<> barrier_;
  std::mutex mutex_;
  std::string failure_;
};

}  // namespace tilepost::harness
