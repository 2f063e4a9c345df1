#include "generator/spec/tree/read_value.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilepost {
namespace {

using std::string_view;

// Reads one value: the lists and mappings that YAML writes in brackets, and words.
class ValueParser {
 public:
  ValueParser(string_view text, Diagnostics& diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  // The whole text as a value; nothing if it is none, with the first reason reported.
  std::optional<Value> parse() {
    Value value;
    if (!parse_value(value, 0)) return std::nullopt;
    skip_blanks();
    if (at_ == text_.size()) return value;
    refuse("unexpected text after the value");
    return std::nullopt;
  }

 private:
  bool refuse(string_view message) {
    diagnostics_.error(place_of(text_.substr(at_, 1)), message);
    return false;
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }

  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  bool parse_value(Value& value, int depth) {
    skip_blanks();
    value.where = place_of(text_.substr(at_, 1));
    if (next_is('[')) return parse_collection(value, Value::Kind::sequence, ']', depth);
    if (next_is('{')) return parse_collection(value, Value::Kind::mapping, '}', depth);
    return parse_word(value, depth > 0);
  }

  // Reads the entries in brackets, separated by commas. The last entry may be followed by a comma
  // too.
  bool parse_collection(Value& value, Value::Kind kind, char end, int depth) {
    const Place where = value.where;
    if (depth >= kMaxDepth) {
      refuse_depth(where, diagnostics_);
      return false;
    }
    value.kind = kind;
    ++at_;
    for (skip_blanks(); !next_is(end); skip_blanks()) {
      if (value.items.size() + value.entries.size() == kMaxEntries) {
        refuse_entries(where, diagnostics_);
        return false;
      }
      if (next_is(',')) return refuse("a value is missing before ','");
      const bool read = kind == Value::Kind::sequence
                            ? parse_value(value.items.emplace_back(), depth + 1)
                            : parse_entry(value, depth);
      if (!read) return false;
      skip_blanks();
      if (next_is(',')) {
        ++at_;
      } else if (!next_is(end)) {
        return refuse(fmt::format("'{}' is missing", end));
      }
    }
    ++at_;
    return true;
  }

  bool parse_entry(Value& mapping, int depth) {
    Value key;
    if (!parse_word(key, true)) return false;
    skip_blanks();
    if (key.kind != Value::Kind::scalar || !next_is(':'))
      return refuse("a key must be a word followed by ': '");
    ++at_;
    Entry entry{key.text, key.where, {}};
    if (!parse_value(entry.value, depth + 1)) return false;
    if (const Entry* first = mapping.find(entry.key)) {
      refuse_twice(entry.key, entry.where, first->where, diagnostics_);
      return false;
    }
    mapping.entries.push_back(std::move(entry));
    return true;
  }

  // Reads a word in quotes, in which a doubled quote stands for one quote, or a bare word. Outside
  // of brackets a bare word extends to the end of the text, inside to the next separator.
  bool parse_word(Value& value, bool inside) {
    skip_blanks();
    if (next_is('\'') || next_is('"')) return parse_quoted(value);
    const size_t start = at_;
    at_ = inside ? std::min(text_.find_first_of(",:[]{}", at_), text_.size()) : text_.size();
    string_view word = text_.substr(start, at_ - start);
    word = word.substr(0, word.find_last_not_of(" \t") + 1);  // npos + 1 is 0
    value.where = place_of(word);
    value.set_scalar(std::string(word), false);
    return true;
  }

  bool parse_quoted(Value& value) {
    const size_t start = at_;
    const char mark = text_[at_++];
    std::string word;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == mark && !next_is(mark)) {
        value.where = place_of(text_.substr(start, at_ - start));
        value.set_scalar(std::move(word), true);
        return true;
      }
      if (c == mark) ++at_;
      word += c;
    }
    return refuse(fmt::format("{} is missing", mark));
  }

  string_view text_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
};

}  // namespace

std::optional<Value> read_value(string_view text, Diagnostics& diagnostics) {
  return ValueParser(text, diagnostics).parse();
}

}  // namespace tilepost
