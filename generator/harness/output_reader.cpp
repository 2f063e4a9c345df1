#include "generator/harness/output_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "generator/harness/process.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPollMilliseconds = 100;

void take_line(llvm::StringRef line, HarnessResult& result, llvm::raw_ostream& out,
               Progress& progress) {
  const bool passed = line.starts_with("ok "), failed = line.starts_with("FAIL ");
  if (!passed && !failed && !line.starts_with("skip ")) return;
  result.passed += passed;
  result.failed += failed;
  result.lines.push_back(line.str());
  progress.clear();
  out << line << "\n";
  out.flush();
}

// Reads until the end of the pipe. Returns false if it is silent for too long, or when interrupted.
bool read_lines(int pipe, double idle_seconds, std::string& end,
                llvm::function_ref<void(llvm::StringRef)> take) {
  LineSplitter lines;
  char buffer[4096];
  Clock::time_point last = Clock::now();
  while (true) {
    if (interrupted()) {
      end = "interrupted";
      return false;
    }
    pollfd ready{pipe, POLLIN, 0};
    if (poll(&ready, 1, kPollMilliseconds) <= 0) {
      const std::chrono::duration<double> silence = Clock::now() - last;
      if (silence.count() < idle_seconds) continue;
      end = "no sign of life for " + std::to_string(static_cast<int>(idle_seconds)) + " s";
      return false;
    }
    const ssize_t bytes = read(pipe, buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return true;
    last = Clock::now();
    lines.add(llvm::StringRef(buffer, bytes), take);
  }
}

}  // namespace

HarnessEnd run_lines(const std::vector<std::string>& argv, double idle_seconds,
                     llvm::function_ref<void(llvm::StringRef)> take) {
  HarnessEnd result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    result.end = std::string("no pipe: ") + strerror(errno);
    return result;
  }
  Process process;
  const bool started = process.start(argv, ends[1], STDERR_FILENO, result.end);
  close(ends[1]);
  const bool read = started && read_lines(ends[0], idle_seconds, result.end, take);
  close(ends[0]);
  if (!started || !read) return result;
  while (!process.ended() && !interrupted())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  result.end = process.status_text();
  result.exit_status = process.exit_status();
  result.ended = result.exit_status == 0 || result.exit_status == 1;
  return result;
}

HarnessResult run_harness(const std::vector<std::string>& argv, double idle_seconds,
                          llvm::raw_ostream& out, Progress& progress) {
  HarnessResult result;
  const HarnessEnd end = run_lines(
      argv, idle_seconds, [&](llvm::StringRef line) { take_line(line, result, out, progress); });
  static_cast<HarnessEnd&>(result) = end;
  return result;
}

}  // namespace tilepost
