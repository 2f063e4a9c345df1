#include "generator/plan/report/lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilepost {
namespace {

constexpr int kLabel = 13;
constexpr size_t kMaxColumns = 120;

// Breaks a line that is too long at spaces, and behind a comma or the like where that leaves more
// than half a line. The next line is indented as far as the text that it continues.
void wrap_line(std::string& out, std::string_view text) {
  const size_t start = std::min(text.find_first_not_of(' '), text.size());
  const size_t indent = start == 0 ? kLabel : start < kLabel ? start + 2 : start;
  size_t margin = 0;
  while (margin + text.size() > kMaxColumns) {
    const std::string_view head = text.substr(0, kMaxColumns - margin + 1);
    size_t end = head.rfind(' ');
    for (size_t i = end; i != std::string_view::npos && i > kMaxColumns / 2;
         i = head.rfind(' ', i - 1))
      if (std::string_view(",;:").find(head[i - 1]) != std::string_view::npos) {
        end = i;
        break;
      }
    if (end == std::string_view::npos || end <= (margin == 0 ? start : 0)) break;
    out += std::string(margin, ' ') + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
    margin = indent;
  }
  out += std::string(margin, ' ') + std::string(text) + "\n";
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  widths_.resize(std::max(widths_.size(), cells.size()), 0);
  for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
  rows_.push_back(std::move(cells));
}

void Table::print(std::string& out) const {
  for (const std::vector<std::string>& cells : rows_) {
    for (size_t i = 0; i < cells.size(); ++i)
      out += fmt::format("{:>{}}", cells[i], 2 + widths_[i]);
    out += "\n";
  }
}

void line(std::string& out, std::string_view label, const std::string& text) {
  out += fmt::format("{:<{}}{}\n", label, kLabel, text);
}

std::string wrapped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    wrap_line(out, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace tilepost
