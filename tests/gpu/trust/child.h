// A rank in a process of its own, with the orders that it gets and the answers that it gives: lines
// over pipes. The parent waits for every answer with a deadline, and kills what it has started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpu_test {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
inline Clock::time_point in_seconds(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// A failure of the ranks of a case. It ends the case, but not the driver.
struct Problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A rank's process, for the parent.
class Child {
 public:
  // Starts this program again with `words` on its command line.
  explicit Child(std::vector<std::string> words);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // kills the process if it is still there

  void order(const std::string& line);

  // The next answer, or nothing if none comes by `until` or the process has ended.
  std::optional<std::string> answer(Clock::time_point until);

  bool has_ended() const;

  void signal(int number) const;

  // Waits until the process has ended. Returns "" for exit code 0, or how it ended: "signal 9".
  std::string wait_for_end(double seconds);

 private:
  pid_t pid_ = -1;
  int orders_ = -1, answers_ = -1;
  std::string text_;  // of answers that were not taken yet
};

using Children = std::vector<std::unique_ptr<Child>>;  // indexed by rank

// The next answer of `rank`. Otherwise it throws a Problem, which says what the rank was asked to
// do and what happened to it, or to another rank whose end leaves it waiting. Rank `dead` may have
// ended.
std::string expect_answer(const Children& ranks, int rank, Clock::time_point until,
                          const std::string& what, int dead = -1);

inline std::string name_of(int rank) {
  return "rank " + std::to_string(rank);
}

// The orders of the parent, for the rank's process.
class Orders {
 public:
  // Ends this process when the parent ends.
  Orders();

  // The words of the next order. Ends the process when there is none.
  std::vector<std::string> next();

  // Sends an answer. Newlines in the text become blanks.
  void answer(std::string text);

 private:
  std::string text_;
};

// The words of `text`, which blanks separate.
std::vector<std::string> words_of(const std::string& text);

}  // namespace gpu_test
