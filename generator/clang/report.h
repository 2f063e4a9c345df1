// Reports refusals at their place in the source that the user wrote, even if a pass has read an
// edited text.
#pragma once

#include <map>
#include <string>

#include "generator/clang/text.h"
#include "generator/diagnostics.h"
#include "generator/one_file.h"
#include "llvm/ADT/Twine.h"

namespace tilepost {

class Report {
 public:
  enum class Kind { error, warning, note };

  Report(Diagnostics& diagnostics, OneFile source);

  // [begin, end) are offsets in `text`, which was made from the source. The same message at the
  // same place is reported once. A note belongs to the message before it.
  void say(Kind kind, const Text& text, size_t begin, size_t end, const llvm::Twine& message);
  // Reports at a place in another file, such as a header. Adds the file to the diagnostics on first
  // use.
  void say_in(Kind kind, llvm::StringRef name, llvm::StringRef content, size_t begin,
              const llvm::Twine& message);
  // Reports an error about the source as a whole.
  void error(const llvm::Twine& message);

  bool ok() const { return errors_ == 0; }

 private:
  void emit(Kind kind, Place where, const llvm::Twine& message);

  llvm::StringRef known(size_t file);

  Diagnostics& diagnostics_;
  const OneFile source_;
  std::vector<llvm::StringRef> known_;  // by file of the source; null: not yet added
  std::map<std::string, llvm::StringRef, std::less<>> headers_;
  std::set<std::pair<const char*, std::string>> said_;
  bool muted_ = false;  // whether the last message was a repetition, so its notes are left out
  int errors_ = 0;
};

}  // namespace tilepost
