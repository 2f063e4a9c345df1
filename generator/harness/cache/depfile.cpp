#include "generator/harness/cache/depfile.h"

namespace tilepost {

std::vector<std::string> read_depfile(llvm::StringRef text) {
  std::vector<std::string> files;
  size_t at = 0;
  // The target ends with a colon before a blank. It may contain other colons.
  while (at < text.size() && !(text[at] == ':' && at + 1 < text.size() && isspace(text[at + 1])))
    ++at;
  std::string file;
  const auto end_file = [&] {
    if (!file.empty()) files.push_back(file);
    file.clear();
  };
  for (++at; at < text.size(); ++at) {
    const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '\\' && next == '\n') {
      end_file();
      ++at;
    } else if (c == '\\' && (next == ' ' || next == '#' || next == '\t')) {
      file += next;
      ++at;
    } else if (c == '$' && next == '$') {
      file += '$';
      ++at;
    } else if (c == '\n') {
      break;  // further rules are for headers, by -MP
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_file();
    } else {
      file += c;
    }
  }
  end_file();
  return files;
}

}  // namespace tilepost
