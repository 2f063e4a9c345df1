// Reads SVG for tests: enough XML to check that a file is well formed, and to get its elements.
#pragma once

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilepost::test {

struct Element {
  std::string name, text;  // its own text, without that of elements inside it
  std::map<std::string, std::string> attributes;
  int parent = -1;  // index; -1 for the root

  double number(const char* attribute) const {
    const auto it = attributes.find(attribute);
    return it == attributes.end() ? 0 : std::stod(it->second);
  }
};

class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) {
    while (wrong_.empty() && at_ < text_.size()) text_[at_] == '<' ? read_tag() : read_text();
    if (wrong_.empty() && !open_.empty()) fail("<" + elements_[open_.back()].name + "> stays open");
    if (wrong_.empty() && roots_ != 1) fail("not one root");
  }

  // What is not well formed, or "".
  const std::string& wrong() const { return wrong_; }
  const std::vector<Element>& elements() const { return elements_; }

 private:
  void fail(const std::string& what) {
    wrong_ = what + " at byte " + std::to_string(at_) + ": " + std::string(text_.substr(at_, 40));
  }

  // Replaces the escapes in `escaped` by their characters.
  std::string plain(std::string_view escaped) {
    std::string out;
    for (size_t i = 0; i < escaped.size(); ++i) {
      const char c = escaped[i];
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n') fail("a control character");
      if (c != '&') {
        out += c;
        continue;
      }
      bool known = false;
      for (const auto& [name, meant] : std::map<std::string, char>{
               {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}})
        if (escaped.substr(i, name.size()) == name) {
          out += meant;
          i += name.size() - 1;
          known = true;
          break;
        }
      if (!known) fail("an unknown entity");
    }
    return out;
  }

  void read_text() {
    const size_t end = std::min(text_.find('<', at_), text_.size());
    const std::string text = plain(text_.substr(at_, end - at_));
    if (!open_.empty())
      elements_[open_.back()].text += text;
    else if (text.find_first_not_of(" \n") != std::string::npos)
      fail("text outside of the root");
    at_ = end;
  }

  std::string read_name() {
    const size_t first = at_;
    while (at_ < text_.size() && (std::isalnum(text_[at_]) != 0 || text_[at_] == '-')) ++at_;
    if (first == at_) fail("no name");
    return std::string(text_.substr(first, at_ - first));
  }

  bool skip(std::string_view what) {
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }

  void read_tag() {
    if (skip("</")) {
      const std::string name = read_name();
      if (open_.empty() || elements_[open_.back()].name != name || !skip(">"))
        return fail("</" + name + "> closes something else");
      return open_.pop_back();
    }
    ++at_;
    Element element;
    element.name = read_name();
    element.parent = open_.empty() ? -1 : static_cast<int>(open_.back());
    if (open_.empty()) ++roots_;
    while (wrong_.empty() && skip(" ")) {
      const std::string name = read_name();
      if (!skip("=\"")) return fail("an attribute without a value");
      const size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) return fail("a value without an end");
      const std::string_view value = text_.substr(at_, end - at_);
      if (value.find('<') != std::string_view::npos) return fail("< in a value");
      if (!element.attributes.emplace(name, plain(value)).second) return fail("two of " + name);
      at_ = end + 1;
    }
    elements_.push_back(element);
    if (skip("/>")) return;
    if (!skip(">")) return fail("a tag without an end");
    open_.push_back(elements_.size() - 1);
  }

  std::string_view text_;
  size_t at_ = 0;
  int roots_ = 0;
  std::vector<Element> elements_;
  std::vector<size_t> open_;
  std::string wrong_;
};

}  // namespace tilepost::test
