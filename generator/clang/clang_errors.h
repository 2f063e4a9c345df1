// Clang's errors in our form, at the user's place.
#pragma once

#include <string>
#include <vector>

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/SourceManager.h"
#include "generator/clang/reached.h"
#include "generator/clang/reading.h"
#include "generator/clang/report.h"

namespace tilepost {

// What full mode says of a header that is not found.
std::string missing_header(llvm::StringRef name);

class ClangErrors : public clang::DiagnosticConsumer {
 public:
  // `text` is the main file, perhaps with more behind it that is not the user's.
  ClangErrors(const Text& text, const Reading& reading, Report& report)
      : text_(text), reading_(reading), report_(report) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override;

  // Full mode reads headers that were written for nvcc, and host code, and what Clang finds wrong
  // there need not matter. So errors are held back until it is known what the function asked for
  // reaches: those in `reached` are told, and what is no error to nvcc is left out. Without it all
  // are told, the user's own first.
  void settle(const clang::SourceManager& sm, const Reached* reached);
  // Places in the text of errors that were left out.
  const std::vector<size_t>& left_out() const { return left_out_; }

  // What could not be placed, because Clang failed before it had a source.
  const std::string& unplaced() const { return unplaced_; }
  // The first error behind the text, where the function is asked for.
  const std::string& about_asked() const { return about_asked_; }

 private:
  struct Message {
    clang::SourceLocation where;
    std::string text;
  };
  struct Held {
    Message error;
    std::vector<Message> notes;
    unsigned id;
  };

  void place(Report::Kind kind, const clang::Diagnostic& info, llvm::StringRef message);
  bool is_about_asked(const clang::Diagnostic& info, Report::Kind kind, llvm::StringRef message);
  void say(Report::Kind kind, const clang::SourceManager& sm, const Message& message);
  // Whether an error outside of what is reached can be left out.
  bool matters_not(const clang::SourceManager& sm, const Held& held);
  bool in_text(const clang::SourceManager& sm, clang::SourceLocation where) const;

  const Text& text_;
  const Reading& reading_;
  Report& report_;
  std::vector<Held> held_;
  std::vector<size_t> left_out_;
  std::string unplaced_;
  std::string about_asked_;
  bool after_error_ = false;
};

}  // namespace tilepost
