#include "generator/spec/text.h"

#include <fmt/format.h>

namespace tilepost {

std::string quote(std::string_view text) {
  constexpr size_t kMaxQuoted = 60;
  if (text.size() <= kMaxQuoted) return fmt::format("'{}'", text);
  size_t end = kMaxQuoted;
  while ((text[end] & 0xc0) == 0x80 && end > 0) --end;  // not inside a UTF-8 sequence
  return fmt::format("'{}…'", text.substr(0, end));
}

std::string in_yaml(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\')
      out += fmt::format("\\{}", letter);
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += letter;
  }
  return out + '"';
}

std::string join(const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

}  // namespace tilepost
