#include "generator/spec/text.h"

#include "llvm/ADT/StringExtras.h"

namespace tilepost {

std::string quote(llvm::StringRef text) {
  constexpr size_t kMaxQuoted = 60;
  if (text.size() <= kMaxQuoted) return ("'" + text + "'").str();
  size_t end = kMaxQuoted;
  while ((text[end] & 0xc0) == 0x80 && end > 0) --end;  // not inside a UTF-8 sequence
  return ("'" + text.take_front(end) + "…'").str();
}

std::string join(llvm::ArrayRef<llvm::StringRef> words) {
  return llvm::join(words, ", ");
}

}  // namespace tilepost
