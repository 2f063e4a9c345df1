// A rank in a process of its own, the orders it gets and the answers it gives: a line each, over
// pipes. The parent waits for every answer with a deadline and kills what it has started.
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

// What went wrong with the ranks of a case: ends the case, not the driver.
struct Problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Seen from the parent.
class Child {
 public:
  // This program again, with these words on its command line.
  explicit Child(std::vector<std::string> words);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // kills it if it is still there

  void order(const std::string& line);

  // Its next answer, or nothing if none has come by `until` or the process has ended.
  std::optional<std::string> answer(Clock::time_point until);

  bool has_ended() const;

  void signal(int number) const;

  // Waits until the process has ended. "" for exit code 0, otherwise how it ended: "signal 9".
  std::string wait_for_end(double seconds);

 private:
  pid_t pid_ = -1;
  int orders_ = -1, answers_ = -1;
  std::string text_;  // of answers, not yet taken
};

using Children = std::vector<std::unique_ptr<Child>>;  // by rank

// The next answer of `rank`, or a Problem that says what it was asked to do and what became of it
// or of another rank, whose end leaves it waiting. `dead` has ended and is not missed.
std::string expect_answer(const Children& ranks, int rank, Clock::time_point until,
                          const std::string& what, int dead = -1);

inline std::string name_of(int rank) {
  return "rank " + std::to_string(rank);
}

// Seen from the rank's process.
class Orders {
 public:
  // Ends this process when the parent ends.
  Orders();

  // The next order, by words. Ends the process when there is none.
  std::vector<std::string> next();

  // Newlines in the text become blanks.
  void answer(std::string text);

 private:
  std::string text_;
};

// "text" cut at blanks.
std::vector<std::string> words_of(const std::string& text);

}  // namespace gpu_test
