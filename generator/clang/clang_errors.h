// Reports Clang's errors in tilepost's form, at their place in the user's source.
#pragma once

#include <string>
#include <vector>

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/SourceManager.h"
#include "generator/clang/reading.h"
#include "generator/clang/report.h"
#include "generator/clang/tree/reached.h"

namespace tilepost {

// The message of full mode for a header that is not found.
std::string missing_header(llvm::StringRef name);

class ClangErrors : public clang::DiagnosticConsumer {
 public:
  // `text` is the user's part of the main file, behind which there may be code that is not the
  // user's.
  ClangErrors(const Text& text, const Reading& reading, Report& report)
      : text_(text), reading_(reading), report_(report) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override;

  // Full mode also reads headers that were written for nvcc, and host code, where Clang's errors
  // need not matter. So errors are held back until it is known which code the function asked for
  // reaches. Then settle() reports those in `reached`, except what is no error to nvcc, and missing
  // headers of the user's own. If `reached` is null it reports all, those in the user's file first.
  void settle(const clang::SourceManager& sm, const Reached* reached);
  // Places in the text of errors that were left out.
  const std::vector<size_t>& left_out() const { return left_out_; }

  // Errors without a place, because Clang failed before it had a source.
  const std::string& unplaced() const { return unplaced_; }
  // The first error behind the text, where the function is asked for.
  const std::string& about_asked() const { return about_asked_; }
  // Whether that is because the name asked for is no single function.
  bool asked_is_unclear() const { return asked_is_unclear_; }

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
  // Adds what helps where Clang refuses what nvcc takes, to the first such error.
  void note_reader(const clang::SourceManager& sm, const Message& error);
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
  bool asked_is_unclear_ = false;
  bool noted_reader_ = false;
  bool after_error_ = false;
};

}  // namespace tilepost
