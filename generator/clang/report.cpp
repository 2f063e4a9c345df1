#include "generator/clang/report.h"

#include "llvm/ADT/Twine.h"

namespace tilepost {

Report::Report(Diagnostics& diagnostics, OneFile source)
    : diagnostics_(diagnostics), source_(std::move(source)), known_(source_.files.size()) {}

llvm::StringRef Report::known(size_t file) {
  const OneFile::File& of = source_.files[file];
  if (known_[file].data() == nullptr) known_[file] = diagnostics_.add_source(of.name, of.text);
  return known_[file];
}

void Report::say(Kind kind, const Text& text, size_t begin, size_t end,
                 const llvm::Twine& message) {
  const size_t first = text.origin_of(begin);
  // The range ends with its last character, so that text inserted behind this does not stretch it.
  const size_t last = end > begin ? text.origin_of(end - 1) + 1 : first;
  const OneFile::Origin origin = source_.origin_of(first);
  const llvm::StringRef file = known(origin.file);
  const size_t line_end = std::min(file.find('\n', origin.offset), file.size());
  const size_t stop = std::clamp(origin.offset + (last - first), origin.offset, line_end);
  emit(kind, {file.data() + origin.offset, file.data() + stop}, message);
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
  emit(Kind::error, {}, source_.files.front().name + ": " + message);
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
