#include "generator/cli/json_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "llvm/Support/FormatVariadic.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

std::string text_of(const llvm::json::Value& value) {
  return llvm::formatv("{0:2}", value).str();
}

}  // namespace

llvm::json::Value json_text(std::string_view text) {
  return llvm::json::isUTF8(text) ? std::string(text) : llvm::json::fixUTF8(text);
}

void JsonDiagnostics::show(Severity severity, Place where, std::string_view message) {
  constexpr const char* kWords[] = {"error", "warning", "note"};
  const std::optional<SourceTexts::Spot> spot = sources_.find(where);
  llvm::json::Object object{{"severity", kWords[static_cast<size_t>(severity)]},
                            {"file", nullptr},
                            {"line", nullptr},
                            {"column", nullptr},
                            {"message", json_text(message)}};
  std::string key(message);
  if (spot) {
    object["file"] = json_text(spot->file);
    object["line"] = spot->line;
    object["column"] = static_cast<int64_t>(spot->column);
    key = fmt::format("{}:{}:{}: {}", spot->file, spot->line, spot->column, message);
  }
  if (severity == Severity::warning)
    hidden_ = !warnings_.insert(key).second;
  else if (severity == Severity::error)
    hidden_ = false;
  if (!hidden_) messages_.push_back(std::move(object));
}

std::string JsonDiagnostics::text() const {
  return text_of(llvm::json::Array(messages_));
}

void JsonDocument::set(std::string key, llvm::json::Value value) {
  set_text(std::move(key), text_of(value));
}

void JsonDocument::set_text(std::string key, std::string json) {
  const auto same = std::ranges::find_if(entries_, [&](const auto& e) { return e.first == key; });
  if (same != entries_.end())
    same->second = std::move(json);
  else
    entries_.emplace_back(std::move(key), std::move(json));
}

void JsonDocument::print(llvm::raw_ostream& out, std::string_view command, int exit_code,
                         const JsonDiagnostics& diagnostics) const {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attribute("tilepost", TILEPOST_VERSION_STRING);
    json.attribute("command", llvm::StringRef(command));
    json.attribute("exit_code", exit_code);
    const auto raw = [&](llvm::StringRef key, llvm::StringRef text) {
      json.attributeBegin(key);
      json.rawValue(text);
      json.attributeEnd();
    };
    for (const auto& [key, text] : entries_) raw(key, text);
    raw("diagnostics", diagnostics.text());
  });
  out << "\n";
}

}  // namespace tilepost
