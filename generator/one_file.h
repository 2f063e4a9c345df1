// A source with the headers of its author in place: what is generated of it is one file, and weaves
// code of headers as it does that of the source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilepost {

// How macros begin that stand in for `#pragma once`.
inline constexpr char kHeaderGuard[] = "TILEPOST_HEADER_";

struct OneFile {
  struct File {
    std::string name;  // as messages call it
    std::string text;
  };
  // What of `text` comes from one file, in one piece: from `begin` to the next part's.
  struct Part {
    size_t begin;
    size_t file;          // of `files`
    size_t from;          // where in it
    bool written = true;  // false: all of it stands for what is there
  };
  struct Origin {
    size_t file, offset;
  };

  std::string text;
  std::vector<File> files;  // the source first
  std::vector<Part> parts;

  OneFile() = default;
  // A source that has no such headers.
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
