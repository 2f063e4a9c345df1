// Diagnostics in a compiler's form: file:line:col: error: text, the source line, a caret, notes.
#pragma once

#include "generator/diagnostics.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

class DiagnosticPrinter : public Diagnostics {
 public:
  explicit DiagnosticPrinter(llvm::raw_ostream& stream, bool color = false);
  ~DiagnosticPrinter() override;  // prints how many errors were not shown

  std::string_view add_source(std::string_view name, std::string_view text) override;

 private:
  // An unknown place, or one in no known text, prints without source line: "tilepost: error: …".
  void show(Severity severity, Place where, std::string_view message) override;

  llvm::raw_ostream& stream_;
  bool color_;
  llvm::SourceMgr sources_;
};

}  // namespace tilepost
