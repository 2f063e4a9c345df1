// Diagnostics in a compiler's form: file:line:col: error: text, the source line, a caret, notes.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "generator/diagnostics.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

// The texts that places point into.
class SourceTexts {
 public:
  struct Spot {
    std::string_view file;  // the name that the text was made known under
    unsigned line;          // from 1
    size_t column;          // from 1, bytes
    llvm::StringRef text;   // the line
  };

  // Diagnostics::add_source.
  std::string_view add(std::string_view name, std::string_view text);

  // Where a place is; nothing for an unknown place, or one in no known text.
  std::optional<Spot> find(Place where) const;

 private:
  llvm::SourceMgr sources_;
};

class DiagnosticPrinter : public Diagnostics {
 public:
  explicit DiagnosticPrinter(llvm::raw_ostream& stream, bool color = false);
  ~DiagnosticPrinter() override;  // prints how many errors and warnings it did not show

  std::string_view add_source(std::string_view name, std::string_view text) override {
    return sources_.add(name, text);
  }

 private:
  // An unknown place, or one in no known text, prints without source line: "tilepost: error: …". A
  // warning that was already printed, for another value of a sweep for example, is not repeated.
  void show(Severity severity, Place where, std::string_view message) override;
  bool is_hidden(Severity severity, const std::string& text);
  void print(Severity severity, const std::string& place, const std::string& message);
  void print_snippet(Place where, const SourceTexts::Spot& spot);

  llvm::raw_ostream& stream_;
  bool color_;
  SourceTexts sources_;
  std::set<std::string> warnings_;  // the warnings that were printed
  bool hidden_ = false;             // whether the last error or warning is hidden
};

}  // namespace tilepost
