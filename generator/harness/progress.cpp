#include "generator/harness/progress.h"

#include <fmt/format.h>

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::chrono::seconds kLogInterval{5};

}  // namespace

Progress::Progress()
    : terminal_(llvm::sys::Process::StandardErrIsDisplayed()), last_(Clock::now()) {}

void Progress::update(std::string_view what, size_t done, size_t total) {
  const auto now = Clock::now();
  if (terminal_ ? now - last_ < kTerminalInterval : now - last_ < kLogInterval) return;
  const std::string text = fmt::format("tilepost: {} {}/{}", what, done, total);
  if (!terminal_ && text == text_) return;  // a log gets no line twice
  last_ = now;
  text_ = text;
  if (terminal_) llvm::errs() << "\r\033[K";
  llvm::errs() << text;
  if (!terminal_) llvm::errs() << "\n";
  shown_ = terminal_;
}

void Progress::clear() {
  if (shown_) llvm::errs() << "\r\033[K";
  shown_ = false;
}

}  // namespace tilepost
