// The layout of the text of `tilepost explain`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilepost {

// A table whose columns are as wide as their widest cell. Cells are aligned to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> cells);
  void print(std::string& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
};

// Appends a text behind its label. With an empty label the text goes below the one before.
void line(std::string& out, std::string_view label, const std::string& text);

// Breaks lines that have more than 120 columns.
std::string wrapped(std::string_view text);

}  // namespace tilepost
