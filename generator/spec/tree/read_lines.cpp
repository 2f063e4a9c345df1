#include "generator/spec/tree/read_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "generator/spec/tree/read_value.h"

namespace tilepost {
namespace {

using std::string_view;

constexpr size_t kMostBytes = size_t{1} << 20;

// A line without its indentation, comment and blanks at the end. It is not empty.
struct Line {
  string_view text;
  size_t indent;  // columns
};

// Where the comment of a line begins, or the line ends: at a '#' outside of quotes with a blank or
// nothing before it.
size_t end_of_code(string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool begins = i == 0 || line[i - 1] == ' ' || line[i - 1] == '[' || line[i - 1] == ',';
    if (quote != 0) {
      if (c == quote && i + 1 < line.size() && line[i + 1] == quote)
        ++i;  // a doubled quote stands for one
      else if (c == quote)
        quote = 0;
    } else if ((c == '"' || c == '\'') && begins) {
      quote = c;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ')) {
      return i;
    }
  }
  return line.size();
}

string_view without_blanks_behind(string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);  // npos + 1 is 0
}

bool is_item(const Line& line) {
  return line.text == "-" || line.text.starts_with("- ");
}

class LineReader {
 public:
  explicit LineReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  bool split(string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      string_view line = text.substr(0, end);
      text.remove_prefix(end == string_view::npos ? text.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (const size_t odd = line.find_first_of("\t\r"); odd != string_view::npos)
        return refuse(line.substr(odd, 1), "a tab or carriage return; write blanks");
      line = without_blanks_behind(line.substr(0, end_of_code(line)));
      if (line.empty()) continue;
      const size_t indent = line.find_first_not_of(' ');
      lines_.push_back({line.substr(indent), indent});
    }
    return true;
  }

  // Reads all lines as one mapping.
  bool read(Value& root) {
    if (lines_.empty()) return true;
    if (!read_block(lines_.front().indent, root, 0)) return false;
    return at_ == lines_.size() ||
           refuse(lines_[at_].text, "this line belongs to nothing before it");
  }

 private:
  bool refuse(string_view where, string_view message) {
    diagnostics_.error(place_of(where), message);
    return false;
  }

  bool more(size_t indent) const { return at_ < lines_.size() && lines_[at_].indent == indent; }

  // Reads the lines with this indentation, and what is below them.
  bool read_block(size_t indent, Value& value, int depth) {
    value.where = place_of(lines_[at_].text);
    if (depth >= kMaxDepth) {
      refuse_depth(value.where, diagnostics_);
      return false;
    }
    const bool items = is_item(lines_[at_]);
    value.kind = items ? Value::Kind::sequence : Value::Kind::mapping;
    while (more(indent) && is_item(lines_[at_]) == items) {
      if (value.items.size() + value.entries.size() == kMaxEntries) {
        refuse_entries(value.where, diagnostics_);
        return false;
      }
      if (!(items ? read_item(value, depth) : read_entry(value, depth))) return false;
    }
    if (at_ < lines_.size() && lines_[at_].indent > indent)
      return refuse(lines_[at_].text, "this line is indented further than the one it belongs to");
    return true;
  }

  // "- key: value": the item is a mapping whose first line begins behind the dash.
  bool read_item(Value& sequence, int depth) {
    Line& line = lines_[at_];
    const size_t begin = line.text.find_first_not_of(' ', 1);
    if (begin == string_view::npos)
      return refuse(line.text, "an item begins on the line of its '-'");
    line = {line.text.substr(begin), line.indent + begin};
    Value& item = sequence.items.emplace_back();
    if (find_colon(line.text) != string_view::npos || is_item(line))
      return read_block(line.indent, item, depth + 1);
    return read_here(line.text, item);
  }

  bool read_entry(Value& mapping, int depth) {
    const Line line = lines_[at_];
    const size_t colon = find_colon(line.text);
    const string_view key = without_blanks_behind(line.text.substr(0, colon));
    if (colon == string_view::npos || key.empty() ||
        key.find_first_of("\"'[]{}") != string_view::npos)
      return refuse(line.text, "expected 'key: value'");
    if (const Entry* first = mapping.find(key)) {
      refuse_twice(key, place_of(key), first->where, diagnostics_);
      return false;
    }
    Entry entry{std::string(key), place_of(key), {}};
    const size_t begin = line.text.find_first_not_of(' ', colon + 1);
    if (begin != string_view::npos) {
      if (!read_here(line.text.substr(begin), entry.value)) return false;
    } else {
      ++at_;
      entry.value.where = entry.where;
      if (has_block_below(line.indent) && !read_block(lines_[at_].indent, entry.value, depth + 1))
        return false;
    }
    mapping.entries.push_back(std::move(entry));
    return true;
  }

  // Whether the next line belongs to a key with this indentation. The items of a list need not be
  // indented further than its key.
  bool has_block_below(size_t indent) const {
    if (at_ == lines_.size()) return false;
    return lines_[at_].indent > indent || (lines_[at_].indent == indent && is_item(lines_[at_]));
  }

  // Reads a value that ends with its line, and goes to the next line.
  bool read_here(string_view text, Value& value) {
    ++at_;
    constexpr string_view kOthers = "&*!|>%@`?";
    if (kOthers.find(text.front()) != string_view::npos)
      return refuse(text.substr(0, 1), fmt::format("values that begin with '{}' are not read here; "
                                                   "write a word, a number or a list in brackets",
                                                   text.front()));
    if (text.front() == '"' && text.find('\\') != string_view::npos)
      return refuse(text, "escapes in quotes are not read here; write the letter itself");
    std::optional<Value> read = read_value(text, diagnostics_);
    if (read) value = std::move(*read);
    return read.has_value();
  }

  // The colon behind a key: at the end of the line, or with a blank behind it.
  static size_t find_colon(string_view text) {
    for (size_t at = text.find(':'); at != string_view::npos; at = text.find(':', at + 1))
      if (at + 1 == text.size() || text[at + 1] == ' ') return at;
    return string_view::npos;
  }

  Diagnostics& diagnostics_;
  std::vector<Line> lines_;
  size_t at_ = 0;
};

}  // namespace

std::optional<Value> read_lines(string_view text, Diagnostics& diagnostics) {
  if (text.size() > kMostBytes) {
    diagnostics.error(
        fmt::format("the text has {} bytes, at most {} are allowed", text.size(), kMostBytes));
    return std::nullopt;
  }
  Value root;
  root.where = place_of(text);
  LineReader reader(diagnostics);
  if (!reader.split(text) || !reader.read(root)) return std::nullopt;
  return root;
}

}  // namespace tilepost
