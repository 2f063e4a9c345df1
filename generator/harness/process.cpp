#include "generator/harness/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace tilepost {
namespace {

constexpr std::chrono::milliseconds kGrace{500};

// POSIX, "Signal Concepts": a handler may use atomic objects that are lock-free.
std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void note_signal(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  first_signal = 0;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
    // Under nohup SIGHUP is ignored and must stay so: the program outlives its terminal.
    if (kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN)
      sigaction(SIGHUP, &before_[i], nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int interrupt_signal() {
  return first_signal;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(status_, other.status_);
  return *this;
}

bool Process::start(const std::vector<std::string>& argv, int out, int err, std::string& error) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int result =
      posix_spawnp(&pid_, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (result == 0) return true;
  pid_ = -1;
  error = strerror(result);
  return false;
}

bool Process::ended() {
  if (pid_ < 0) return true;
  int status = 0;
  const pid_t result = waitpid(pid_, &status, WNOHANG);
  if (result == 0 || (result < 0 && errno == EINTR)) return false;
  status_ = result < 0 ? -1 : status;
  pid_ = -1;
  return true;
}

int Process::exit_status() const {
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
}

std::string Process::status_text() const {
  if (WIFEXITED(status_)) return "exit status " + std::to_string(WEXITSTATUS(status_));
  if (!WIFSIGNALED(status_)) return "an unknown status";
  const int signal = WTERMSIG(status_);
  return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

// Asks the process to end first, so that a compiler removes its temporary files. A process that
// does not end is killed.
void Process::kill() {
  if (pid_ < 0) return;
  const pid_t group = pid_;
  ::kill(-group, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  while (!ended() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(-group, SIGKILL);
  while (!ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace tilepost
