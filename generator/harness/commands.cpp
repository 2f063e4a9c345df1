#include "generator/harness/commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "generator/harness/process.h"
#include "generator/printable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPollInterval{5};
constexpr size_t kMaxShownBytes = 20000;

struct Running {
  const Command* command;
  Process process;
  Clock::time_point started;
};

std::string in_words(const Command& command) {
  return llvm::join(command.argv, " ");
}

// Copies a compiler's output to standard error; only the beginning if the output is very long.
void show_log(const Command& command) {
  const auto log = llvm::MemoryBuffer::getFile(command.log);
  if (!log) return;
  const llvm::StringRef text = (*log)->getBuffer();
  llvm::errs() << text.take_front(kMaxShownBytes);
  if (text.size() > kMaxShownBytes)
    llvm::errs() << "\n… the rest is in " << printable(command.log) << "\n";
}

bool start(const Command& command, std::vector<Running>& running, Diagnostics& diagnostics) {
  const int log = open(command.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0) {
    diagnostics.error("cannot write '" + command.log + "': " + strerror(errno));
    return false;
  }
  Running next{&command, Process(), Clock::now()};
  std::string error;
  const bool started = next.process.start(command.argv, log, log, error);
  close(log);
  if (!started) {
    diagnostics.error("cannot run '" + command.argv[0] + "': " + error);
    return false;
  }
  running.push_back(std::move(next));
  return true;
}

// Collects the commands that have ended. Returns false if something went wrong.
bool collect(std::vector<Running>& running, Progress& progress, Diagnostics& diagnostics) {
  for (Running& each : running) {
    const Command& command = *each.command;
    if (!each.process.ended()) {
      const std::chrono::duration<double> seconds = Clock::now() - each.started;
      if (seconds.count() < command.seconds) continue;
      each.process.kill();
      progress.clear();
      show_log(command);
      diagnostics.error(fmt::format("no end within {} s: {}", static_cast<int>(command.seconds),
                                    in_words(command)));
      return false;
    }
    if (!each.process.succeeded()) {
      progress.clear();
      show_log(command);
      diagnostics.error("the compiler ended with " + each.process.status_text() + ": " +
                        in_words(command));
      return false;
    }
    each.command = nullptr;
  }
  llvm::erase_if(running, [](const Running& each) { return each.command == nullptr; });
  return true;
}

}  // namespace

bool run_commands(const std::vector<Command>& commands, int jobs, const std::string& what,
                  Progress& progress, Diagnostics& diagnostics) {
  const size_t limit =
      jobs > 0 ? jobs : std::max(1u, static_cast<unsigned>(std::thread::hardware_concurrency()));
  std::vector<Running> running;
  size_t next = 0;
  while (next < commands.size() || !running.empty()) {
    if (interrupted()) return false;
    while (next < commands.size() && running.size() < limit)
      if (!start(commands[next++], running, diagnostics)) return false;
    if (!collect(running, progress, diagnostics)) return false;
    progress.update(what, next - running.size(), commands.size());
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

std::string shell_word(const std::string& word) {
  const llvm::StringRef safe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@";
  if (!word.empty() && llvm::StringRef(word).find_first_not_of(safe) == llvm::StringRef::npos)
    return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// "-I/tmp/kept/include" to "-Iinclude", "/tmp/kept" to ".", where the folder is /tmp/kept.
std::string relative_word(std::string word, const std::string& folder) {
  const size_t at = word.find(folder);
  if (folder.empty() || at == std::string::npos) return word;
  const size_t end = at + folder.size();
  if (end == word.size()) return word.replace(at, folder.size(), ".");
  return word[end] == '/' ? word.erase(at, folder.size() + 1) : word;
}

std::string shell_script(const std::vector<Command>& commands, const std::string& folder) {
  std::string text =
      "#!/bin/sh\n# Builds the harness again, after a change by hand say.\nset -ex\n"
      "cd \"$(dirname \"$0\")\"\n";
  for (const Command& command : commands) {
    std::string line;
    for (const std::string& word : command.argv)
      line += (line.empty() ? "" : " ") + shell_word(relative_word(word, folder));
    text += line + "\n";
  }
  return text;
}

}  // namespace tilepost
