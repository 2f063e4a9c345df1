#include "generator/weave/parse/report.h"

#include "llvm/ADT/Twine.h"

namespace tilepost {

Report::Report(Diagnostics& diagnostics, llvm::StringRef name, llvm::StringRef source)
    : diagnostics_(diagnostics), name_(name), source_(diagnostics.add_source(name, source)) {}

void Report::say(Kind kind, const Text& text, size_t begin, size_t end,
                 const llvm::Twine& message) {
  const size_t first = text.origin_of(begin);
  // Up to the last character, so that text inserted behind it does not stretch the range.
  size_t last = end > begin ? text.origin_of(end - 1) + 1 : first;
  const size_t line_end = std::min(source_.find('\n', first), source_.size());
  last = std::clamp(last, first, line_end);
  emit(kind, {source_.data() + first, source_.data() + last}, message);
}

void Report::say_in(Kind kind, llvm::StringRef name, llvm::StringRef content, size_t begin,
                    const llvm::Twine& message) {
  auto header = headers_.find(name);
  if (header == headers_.end()) {
    header = headers_.emplace(name.str(), diagnostics_.add_source(name, content)).first;
  }
  const char* where = header->second.data() + begin;
  emit(kind, {where, where}, message);
}

void Report::error(const llvm::Twine& message) {
  emit(Kind::error, {}, name_ + ": " + message);
}

void Report::emit(Kind kind, Place where, const llvm::Twine& message) {
  if (kind == Kind::note) {
    if (!muted_) diagnostics_.note(where, message.str());
    return;
  }
  if (kind == Kind::error) ++errors_;
  muted_ = !said_.insert({where.begin, message.str()}).second;
  if (muted_) return;
  if (kind == Kind::warning) {
    diagnostics_.warning(where, message.str());
  } else {
    diagnostics_.error(where, message.str());
  }
}

}  // namespace tilepost
