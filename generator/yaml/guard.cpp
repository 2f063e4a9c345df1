#include "generator/yaml/guard.h"

#include <fmt/format.h>

#include "llvm/Support/ConvertUTF.h"

namespace tilepost {
namespace {

using llvm::StringRef;

std::string too_long(std::string_view what, size_t bytes, size_t most) {
  return fmt::format("{} has {} bytes, at most {} are allowed", what, bytes, most);
}

// Whether all bytes are UTF-8 without control characters other than tab and the line's end.
bool check_bytes(StringRef text, Diagnostics& diagnostics, const char* noun) {
  for (size_t i = 0; i < text.size();) {
    const auto* first = reinterpret_cast<const llvm::UTF8*>(text.data()) + i;
    const size_t length = llvm::getNumBytesForUTF8(*first);
    const std::string hex = fmt::format("0x{:02X}", *first);
    if (length > text.size() - i || !llvm::isLegalUTF8Sequence(first, first + length)) {
      diagnostics.error(place_of(text.substr(i, 1)),
                        fmt::format("byte {} is not valid UTF-8; save the {} as UTF-8", hex, noun));
      return false;
    }
    const bool line_end = *first == '\n' || text.substr(i).starts_with("\r\n");
    if ((*first < 0x20 && *first != '\t' && !line_end) || *first == 0x7f) {
      diagnostics.error(place_of(text.substr(i, 1)),
                        fmt::format("control character {} is not allowed", hex));
      return false;
    }
    i += length;
  }
  return true;
}

// LLVM's parser calls itself for every comma that follows a comma, with only blanks and comments
// between them. This counts such commas everywhere, even in strings, because only the parser knows
// what is a string. Lines that begin with '#' are comments here too.
bool check_commas(StringRef text, Diagnostics& diagnostics) {
  size_t row = 0;  // commas so far with nothing between them
  bool line_start = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#' && (row > 0 || line_start)) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == ',') {
      if (++row > kMaxCommas) {
        diagnostics.error(place_of(text.substr(i, 1)),
                          fmt::format("more than {} commas with nothing between them", kMaxCommas));
        return false;
      }
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      row = 0;
    }
    line_start = c == '\n' || (line_start && c == ' ');
  }
  return true;
}

// Follows a file line by line and refuses what is not one plain YAML document.
class LineChecker {
 public:
  LineChecker(Diagnostics& diagnostics, const GuardedFile& file)
      : diagnostics_(diagnostics), file_(file) {}

  bool check(StringRef line) {
    if (line.size() > kMaxLineBytes) {
      return refuse(line.substr(kMaxLineBytes, 1),
                    too_long("the line", line.size(), kMaxLineBytes));
    }
    const StringRef content = line.ltrim(' ');
    if (content.starts_with("\t"))
      return refuse(content.take_front(1), "a tab in the indentation; YAML indents with spaces");
    if (content.trim().empty() || content.starts_with("#")) return true;
    if (is_marker(line, "---")) {
      if (has_content_ || started_) return refuse_second(line);
      started_ = true;
      has_content_ = !line.drop_front(3).trim().empty() && line.drop_front(3).trim()[0] != '#';
      return true;
    }
    if (ended_) return refuse_second(line);
    if (is_marker(line, "...")) {
      ended_ = true;
      return true;
    }
    if (!has_content_ && line.starts_with("%"))
      return refuse(line, fmt::format("YAML directives are not supported; a {} starts with '{}'",
                                      file_.noun, file_.start));
    has_content_ = true;
    return true;
  }

  bool has_content() const { return has_content_; }

 private:
  static bool is_marker(StringRef line, StringRef marker) {
    return line.consume_front(marker) && (line.empty() || line[0] == ' ' || line[0] == '\t');
  }

  bool refuse(StringRef where, std::string_view message) {
    diagnostics_.error(place_of(where), message);
    return false;
  }

  bool refuse_second(StringRef line) {
    return refuse(
        line, fmt::format("a second document starts here; a {} is one YAML document", file_.noun));
  }

  Diagnostics& diagnostics_;
  const GuardedFile& file_;
  bool started_ = false;      // by '---'
  bool ended_ = false;        // by '...'
  bool has_content_ = false;  // something other than markers and comments
};

}  // namespace

bool guard_file(StringRef text, Diagnostics& diagnostics, const GuardedFile& file) {
  if (text.size() > kMaxSpecBytes) {
    diagnostics.error(place_of(text.take_front(0)),
                      too_long(fmt::format("the {}", file.noun), text.size(), kMaxSpecBytes));
    return false;
  }
  if (!check_bytes(text, diagnostics, file.noun)) return false;
  LineChecker checker(diagnostics, file);
  StringRef rest = text;
  rest.consume_front("\xef\xbb\xbf");  // byte order mark
  while (!rest.empty()) {
    const auto [line, tail] = rest.split('\n');
    if (!checker.check(line.rtrim('\r'))) return false;
    rest = tail;
  }
  if (checker.has_content()) return check_commas(text, diagnostics);
  diagnostics.error(
      place_of(text.take_front(0)),
      fmt::format("the {} is empty; it starts with '{}' ({})", file.noun, file.start, file.page));
  return false;
}

bool guard_value(StringRef text, Diagnostics& diagnostics) {
  if (text.size() > kMaxLineBytes) {
    diagnostics.error(place_of(text.substr(kMaxLineBytes, 1)),
                      too_long("the value", text.size(), kMaxLineBytes));
    return false;
  }
  if (!check_bytes(text, diagnostics, kSpecFile.noun)) return false;
  if (const size_t end = text.find_first_of("\r\n"); end != StringRef::npos) {
    diagnostics.error(place_of(text.substr(end, 1)), "an override is one line");
    return false;
  }
  const StringRef word = text.ltrim(" \t");
  if (word.starts_with("---") || word.starts_with("...") || word.starts_with("%")) {
    diagnostics.error(place_of(text), "YAML markers and directives are not values");
    return false;
  }
  return check_commas(text, diagnostics);
}

}  // namespace tilepost
