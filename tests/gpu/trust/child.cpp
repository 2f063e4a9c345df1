#include "tests/gpu/trust/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

extern char** environ;

namespace gpu_test {
namespace {

constexpr int kOrders = 3, kAnswers = 4;  // file descriptors in the rank's process

// Takes the first line out of `text`.
std::optional<std::string> take_line(std::string& text) {
  const size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  return line;
}

void write_all(int descriptor, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // the other side has ended, which the reader of its answers notices
    done += static_cast<size_t>(count);
  }
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Child::Child(std::vector<std::string> words) {
  ::signal(SIGPIPE, SIG_IGN);
  int orders[2], answers[2];
  if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) throw Problem("no pipe");
  // Avoids the numbers that the descriptors get in the other process.
  const int theirs = fcntl(orders[0], F_DUPFD_CLOEXEC, 10);
  const int back = fcntl(answers[1], F_DUPFD_CLOEXEC, 10);
  close(orders[0]);
  close(answers[1]);
  orders_ = orders[1];
  answers_ = answers[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs, kOrders);
  posix_spawn_file_actions_adddup2(&actions, back, kAnswers);
  words.insert(words.begin(), "/proc/self/exe");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int error =
      posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(theirs);
  close(back);
  if (error != 0) throw Problem("no process could be started");
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
  }
  close(orders_);
  close(answers_);
}

void Child::order(const std::string& line) {
  write_all(orders_, line + "\n");
}

std::optional<std::string> Child::answer(Clock::time_point until) {
  for (;;) {
    if (auto line = take_line(text_)) return line;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left < 0) return std::nullopt;
    pollfd ready{answers_, POLLIN, 0};
    const int count = poll(&ready, 1, static_cast<int>(std::min<int64_t>(left + 1, 1000)));
    if (count <= 0) continue;
    char bytes[4096];
    const ssize_t size = read(answers_, bytes, sizeof bytes);
    if (size == 0) return std::nullopt;
    if (size > 0) text_.append(bytes, static_cast<size_t>(size));
  }
}

bool Child::has_ended() const {
  siginfo_t info{};
  return pid_ <= 0 ||
         (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_);
}

std::string expect_answer(const Children& ranks, int rank, Clock::time_point until,
                          const std::string& what, int dead) {
  const auto begin = Clock::now();
  const auto gone = [&](int other) {
    const std::string end = ranks[other]->wait_for_end(1);
    return name_of(other) + " ended by " + (end.empty() ? "exit code 0" : end);
  };
  const std::string asked = name_of(rank) + ", asked to '" + what + "', ";
  while (Clock::now() < until) {
    if (auto line = ranks[rank]->answer(std::min(until, in_seconds(0.5)))) return *line;
    if (ranks[rank]->has_ended()) {
      if (auto line = ranks[rank]->answer(in_seconds(0))) return *line;
      throw Problem(asked + "has gone: " + gone(rank));
    }
    for (int other = 0; other < static_cast<int>(ranks.size()); ++other)
      if (other != dead && ranks[other]->has_ended() && seconds_since(begin) > 3)
        throw Problem(asked + "waits, for " + gone(other));
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", seconds_since(begin));
  throw Problem(asked + "did not answer within " + seconds);
}

void Child::signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

std::string Child::wait_for_end(double seconds) {
  const auto until = in_seconds(seconds);
  while (pid_ > 0) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
      return WEXITSTATUS(status) == 0 ? "" : "exit code " + std::to_string(WEXITSTATUS(status));
    }
    if (Clock::now() > until) return "nothing: it is still there";
    usleep(2000);
  }
  return "an end that was seen before";
}

Orders::Orders() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
}

std::vector<std::string> Orders::next() {
  for (;;) {
    if (auto line = take_line(text_)) return words_of(*line);
    char bytes[4096];
    const ssize_t size = read(kOrders, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) _exit(3);
    text_.append(bytes, static_cast<size_t>(size));
  }
}

void Orders::answer(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  write_all(kAnswers, text + "\n");
}

}  // namespace gpu_test
