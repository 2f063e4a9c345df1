#include "generator/program/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "generator/printable.h"

namespace tilepost {
namespace {

bool is_within(const char* at, const std::string& text) {
  const std::less_equal<> before;  // orders pointers into different texts, too
  return before(text.data(), at) && before(at, text.data() + text.size());
}

}  // namespace

std::string_view Messages::add_source(std::string_view name, std::string_view text) {
  return sources_.emplace_back(Source{std::string(name), std::string(text)}).text;
}

std::string Messages::prefix_of(Place where) const {
  for (const Source& source : sources_) {
    if (!where.known() || !is_within(where.begin, source.text)) continue;
    if (source.text.find('\n') == std::string::npos) return printable(source.text) + ": ";
    const auto line = std::count(source.text.data(), where.begin, '\n') + 1;
    return fmt::format("{}:{}: ", source.name, line);
  }
  return "";
}

void Messages::show(Severity severity, Place where, std::string_view message) {
  const std::string line = prefix_of(where) + printable(message);
  if (severity == Severity::note) {
    if (last_ == Severity::error && !errors_.empty()) errors_.back() += " (" + line + ")";
    return;
  }
  last_ = severity;
  if (severity == Severity::warning)
    warnings_ += line + "\n";
  else if (errors_.size() < kMaxErrors)
    errors_.push_back(line);
}

std::string Messages::error_text() const {
  if (errors() == 1) return errors_.front();
  std::string text = fmt::format("{} errors", errors());
  for (const std::string& error : errors_) text += "\n  " + error;
  const int hidden = errors() - static_cast<int>(errors_.size());
  if (hidden > 0) text += fmt::format("\n  and {} more", hidden);
  return text;
}

}  // namespace tilepost
