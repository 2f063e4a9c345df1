// Child processes that can be stopped: each leads a process group of its own, so that a compiler's
// or harness's own children end with it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <iterator>
#include <string>
#include <vector>

namespace tilepost {

// While a guard lives, signals that ask to stop (Ctrl-C, SIGTERM, SIGHUP) end nothing by
// themselves, however many come: everything that waits for a child looks at interrupted() and
// returns, so that children are ended and folders removed on the way. One guard at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kSignals)];
};

// The first signal that came under the last guard, or 0.
int interrupt_signal();
inline bool interrupted() {
  return interrupt_signal() != 0;
}

class Process {
 public:
  Process() = default;
  ~Process() { kill(); }
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  // Starts argv[0], looked up in PATH if it has no slash, with standard output and standard error
  // going to the given descriptors. Returns false, with the system's words in `error`, if it
  // cannot.
  bool start(const std::vector<std::string>& argv, int out, int err, std::string& error);

  // Whether the process has ended. Then the functions below say how.
  bool ended();

  // How the process ended. In words: "exit status 1", "signal 11 (Segmentation fault)".
  bool succeeded() const { return status_ == 0; }
  int exit_status() const;  // -1: killed by a signal
  std::string status_text() const;

  // Ends the process and its group, and waits for it.
  void kill();

 private:
  pid_t pid_ = -1;
  int status_ = -1;
};

}  // namespace tilepost
