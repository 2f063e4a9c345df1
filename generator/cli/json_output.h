// --json: one JSON document on standard output in place of text and messages. docs/cli.md has its
// fields.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/diagnostic_printer.h"
#include "llvm/Support/JSON.h"

namespace tilepost {

// Collects messages as objects: severity, file, line, column, message. A message at an unknown
// place has null as file, line and column.
class JsonDiagnostics : public Diagnostics {
 public:
  std::string_view add_source(std::string_view name, std::string_view text) override {
    return sources_.add(name, text);
  }

  // The messages as a JSON array.
  std::string text() const;

 private:
  void show(Severity severity, Place where, std::string_view message) override;

  SourceTexts sources_;
  llvm::json::Array messages_;
  std::set<std::string> warnings_;  // each is shown once, with its notes
  bool hidden_ = false;             // whether the last error or warning was left out
};

// What a command adds to its document: keys and JSON texts, in the order in which they are printed.
class JsonDocument {
 public:
  void set(std::string key, llvm::json::Value value);
  void set_text(std::string key, std::string json);

  // Prints the document: first the keys that every document has, then those that were set.
  void print(llvm::raw_ostream& out, std::string_view command, int exit_code,
             const JsonDiagnostics& diagnostics) const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

// A JSON string of a text that may hold any bytes. Bytes that are not UTF-8 are replaced.
llvm::json::Value json_text(std::string_view text);

}  // namespace tilepost
