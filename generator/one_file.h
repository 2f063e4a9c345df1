// A source whose author's headers were put in the place of their inclusions. Code generated from
// the source is therefore one file, and code of headers is woven like code of the source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilepost {

// The prefix of the macros that stand in for `#pragma once`.
inline constexpr char kHeaderGuard[] = "TILEPOST_HEADER_";

struct OneFile {
  struct File {
    std::string name;  // as messages call it
    std::string text;
  };
  // A stretch of `text` that comes from one file. It ends where the next part begins.
  struct Part {
    size_t begin;
    size_t file;          // index into `files`
    size_t from;          // offset in that file
    bool written = true;  // false: every character of the part has the origin `from`
  };
  struct Origin {
    size_t file, offset;
  };

  std::string text;
  std::vector<File> files;  // the source first
  std::vector<Part> parts;

  OneFile() = default;
  // A source without such headers.
  OneFile(std::string_view name, std::string_view source)
      : text(source), files{{std::string(name), text}}, parts{{0, 0, 0}} {}

  Origin origin_of(size_t offset) const {
    const auto next = std::upper_bound(parts.begin(), parts.end(), offset,
                                       [](size_t at, const Part& part) { return at < part.begin; });
    if (next == parts.begin()) return {0, 0};
    const Part& part = *(next - 1);
    return {part.file, part.from + (part.written ? offset - part.begin : 0)};
  }
};

}  // namespace tilepost
