// Clang's errors in our form, at the user's place.
#pragma once

#include <string>

#include "clang/Basic/Diagnostic.h"
#include "generator/weave/parse/reading.h"
#include "generator/weave/parse/report.h"

namespace tilepost {

class ClangErrors : public clang::DiagnosticConsumer {
 public:
  // `text` is the main file, perhaps with more behind it that is not the user's.
  ClangErrors(const Text& text, const Reading& reading, Report& report)
      : text_(text), reading_(reading), report_(report) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override;

  // What could not be placed, because Clang failed before it had a source.
  const std::string& unplaced() const { return unplaced_; }
  // The first error behind the text, where the function is asked for.
  const std::string& about_asked() const { return about_asked_; }

 private:
  void place(Report::Kind kind, const clang::Diagnostic& info, llvm::StringRef message);

  const Text& text_;
  const Reading& reading_;
  Report& report_;
  std::string unplaced_;
  std::string about_asked_;
  bool after_error_ = false;
};

}  // namespace tilepost
