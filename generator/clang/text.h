// Source text that remembers where each character came from, and edits of it.
//
// A pass works on the output of the pass before it. But a refusal must point into the text that the
// user wrote. So every character has its offset in the original source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace tilepost {

struct Text {
  std::string text;
  std::vector<uint32_t> origin;  // by character: its offset in the original; one more for the end

  Text() = default;
  // The original source: every character comes from itself.
  explicit Text(llvm::StringRef original);

  size_t size() const { return text.size(); }
  size_t origin_of(size_t offset) const { return origin[offset < size() ? offset : size()]; }
  llvm::StringRef part(size_t begin, size_t end) const {
    return llvm::StringRef(text).slice(begin, end);
  }
  void append(const Text& other);
  // Appends text whose origin is the offset `at` in the original.
  void append(llvm::StringRef inserted, uint32_t at);
};

// A set of replacements of parts of one text. The same edit made twice counts once: template
// instantiations and repeated macro expansions lead to the same token many times.
class Edits {
 public:
  void replace(size_t begin, size_t end, llvm::StringRef text);
  void insert(size_t at, llvm::StringRef text) { replace(at, at, text); }
  void erase(size_t begin, size_t end) { replace(begin, end, ""); }

  bool empty() const { return edits_.empty(); }
  // Whether the character at `offset` is replaced or erased.
  bool replaces(size_t offset) const;
  // The part [begin, end) of `text` with the edits that start in it. An edit inside of a part that
  // an earlier edit replaced is dropped. Two erasures that overlap erase both parts.
  Text apply(const Text& text, size_t begin, size_t end) const;
  Text apply(const Text& text) const { return apply(text, 0, text.size()); }

 private:
  struct Edit {
    size_t begin, end;
    std::string text;
    // Insertions come before a replacement at the same place, long replacements before short ones.
    bool operator<(const Edit& other) const;
  };
  std::set<Edit> edits_;
};

// The source with lines that end in \n only, which the passes rely on.
Text with_plain_lines(const std::string& source);

}  // namespace tilepost
