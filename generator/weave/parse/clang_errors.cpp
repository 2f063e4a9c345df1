#include "generator/weave/parse/clang_errors.h"

#include "clang/Basic/DiagnosticLex.h"
#include "clang/Basic/DiagnosticSema.h"
#include "clang/Basic/SourceManager.h"
#include "generator/weave/parse/invocation.h"
#include "generator/weave/parse/prelude.h"
#include "llvm/ADT/SmallString.h"

namespace tilepost {

using llvm::StringRef;

void ClangErrors::HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                                   const clang::Diagnostic& info) {
  DiagnosticConsumer::HandleDiagnostic(level, info);
  const bool error = level >= clang::DiagnosticsEngine::Error;
  if (!error && (level != clang::DiagnosticsEngine::Note || !after_error_)) {
    if (level != clang::DiagnosticsEngine::Note) after_error_ = false;
    return;
  }
  after_error_ = true;
  llvm::SmallString<256> message;
  info.FormatDiagnostic(message);
  if (info.getID() == clang::diag::err_pp_file_not_found && !reading_.full) {
    message = ("header '" + info.getArgStdStr(0) +
               "' is not known here: kernels are read without an installed toolchain, and may "
               "include " +
               known_headers(reading_.cuda));
  }
  place(error ? Report::Kind::error : Report::Kind::note, info, message);
}

void ClangErrors::place(Report::Kind kind, const clang::Diagnostic& info, StringRef message) {
  if (!info.hasSourceManager() || info.getLocation().isInvalid()) {
    if (kind == Report::Kind::error) unplaced_ = message.str();
    return;
  }
  const clang::SourceManager& sm = info.getSourceManager();
  const auto [file, offset] = sm.getDecomposedLoc(sm.getFileLoc(info.getLocation()));
  if (file == sm.getMainFileID()) {
    if (offset <= text_.size()) {
      report_.say(kind, text_, offset, offset, message);
      return;
    }
    after_error_ = false;  // its notes are about what the user did not write
    if (kind == Report::Kind::error && about_asked_.empty()) {
      const bool ambiguous = info.getID() == clang::diag::err_auto_var_deduction_failure;
      about_asked_ = ambiguous
                         ? "it means several functions; name one instantiation of a template, "
                           "with a value for each parameter that has no default"
                         : message.str();
    }
    return;
  }
  const StringRef name = sm.getFilename(sm.getFileLoc(info.getLocation()));
  report_.say_in(kind, known_name(name), sm.getBufferData(file), offset, message);
}

}  // namespace tilepost
