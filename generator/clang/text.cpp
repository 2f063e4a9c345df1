#include "generator/clang/text.h"

#include <numeric>
#include <tuple>

namespace tilepost {

Text::Text(llvm::StringRef original) : text(original.str()), origin(original.size() + 1) {
  std::iota(origin.begin(), origin.end(), 0u);
}

void Text::append(const Text& other) {
  if (!origin.empty()) origin.pop_back();
  text += other.text;
  origin.insert(origin.end(), other.origin.begin(), other.origin.end());
}

void Text::append(llvm::StringRef inserted, uint32_t at) {
  if (origin.empty()) origin.push_back(at);
  const uint32_t end = origin.back();
  origin.pop_back();
  text += inserted;
  origin.insert(origin.end(), inserted.size(), at);
  origin.push_back(end);
}

bool Edits::Edit::operator<(const Edit& other) const {
  const auto key = [](const Edit& edit) {
    const bool replaces = edit.end > edit.begin;
    return std::make_tuple(edit.begin, replaces, ~(edit.end - edit.begin), edit.text);
  };
  return key(*this) < key(other);
}

void Edits::replace(size_t begin, size_t end, llvm::StringRef text) {
  if (begin < end || !text.empty()) edits_.insert({begin, end, text.str()});
}

bool Edits::replaces(size_t offset) const {
  size_t covered = 0;  // where the edits so far end
  for (const Edit& edit : edits_) {
    if (edit.begin > offset) break;
    if (edit.begin >= covered || edit.text.empty()) covered = std::max(covered, edit.end);
    if (covered > offset) return true;
  }
  return false;
}

Text Edits::apply(const Text& text, size_t begin, size_t end) const {
  Text result;
  size_t at = begin;
  const auto copy_to = [&](size_t stop) {
    result.text.append(text.text, at, stop - at);
    result.origin.insert(result.origin.end(), text.origin.begin() + at, text.origin.begin() + stop);
    at = stop;
  };
  for (auto edit = edits_.lower_bound({begin, begin, ""}); edit != edits_.end(); ++edit) {
    if (edit->begin > end || (edit->begin == end && end < text.size())) break;
    if (edit->begin < at) {
      if (edit->text.empty()) at = std::max(at, std::min(edit->end, end));
      continue;
    }
    copy_to(edit->begin);
    result.text += edit->text;
    result.origin.insert(result.origin.end(), edit->text.size(), text.origin[edit->begin]);
    at = std::min(edit->end, end);
  }
  copy_to(end);
  result.origin.push_back(text.origin[end]);
  return result;
}

Text with_plain_lines(const std::string& source) {
  Edits edits;
  for (size_t at = 0; (at = source.find("\r\n", at)) != std::string::npos; ++at) {
    edits.erase(at, at + 1);
  }
  return edits.apply(Text(source));
}

}  // namespace tilepost
