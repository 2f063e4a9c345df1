#include "generator/clang/clang_errors.h"

#include <algorithm>

#include "clang/Basic/DiagnosticAST.h"
#include "clang/Basic/DiagnosticLex.h"
#include "clang/Basic/DiagnosticParse.h"
#include "clang/Basic/DiagnosticSema.h"
#include "generator/clang/invocation.h"
#include "generator/clang/prelude.h"
#include "llvm/ADT/SmallString.h"

namespace tilepost {

using llvm::StringRef;

std::string missing_header(StringRef name) {
  return ("header '" + name +
          "' is neither beside the file that includes it, nor in kernel.include_dirs, nor in the "
          "CUDA Toolkit")
      .str();
}

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
  if (info.getID() == clang::diag::err_pp_file_not_found) {
    const std::string header = info.getArgStdStr(0);
    message = reading_.full ? missing_header(header)
                            : "header '" + header +
                                  "' is not known here: kernels are read without an installed "
                                  "toolchain, and may include " +
                                  known_headers(reading_.cuda);
  }
  place(error ? Report::Kind::error : Report::Kind::note, info, message);
}

void ClangErrors::place(Report::Kind kind, const clang::Diagnostic& info, StringRef message) {
  if (!info.hasSourceManager() || info.getLocation().isInvalid()) {
    if (kind == Report::Kind::error) unplaced_ = message.str();
    return;
  }
  if (is_about_asked(info, kind, message)) return;
  const Message placed = {info.getLocation(), message.str()};
  if (!reading_.full) {
    say(kind, info.getSourceManager(), placed);
    if (kind == Report::Kind::error && info.getID() != clang::diag::err_pp_file_not_found)
      note_reader(info.getSourceManager(), placed);
  } else if (kind == Report::Kind::error) {
    held_.push_back({placed, {}, info.getID()});
  } else if (!held_.empty()) {
    held_.back().notes.push_back(placed);
  }
}

// Takes messages about the code behind the text, which asks for the function. False for other
// messages.
bool ClangErrors::is_about_asked(const clang::Diagnostic& info, Report::Kind kind,
                                 StringRef message) {
  const clang::SourceManager& sm = info.getSourceManager();
  const auto [file, offset] = sm.getDecomposedLoc(sm.getFileLoc(info.getLocation()));
  if (file != sm.getMainFileID() || offset <= text_.size()) return false;
  if (kind != Report::Kind::error) return true;
  after_error_ = false;  // the user did not write the code of its notes
  if (!about_asked_.empty()) return true;
  asked_is_unclear_ = info.getID() == clang::diag::err_auto_var_deduction_failure;
  about_asked_ = message.str();
  return true;
}

void ClangErrors::say(Report::Kind kind, const clang::SourceManager& sm, const Message& message) {
  const auto [file, offset] = sm.getDecomposedLoc(sm.getFileLoc(message.where));
  if (file == sm.getMainFileID()) {
    report_.say(kind, text_, offset, offset, message.text);
    return;
  }
  const StringRef name = sm.getFilename(sm.getFileLoc(message.where));
  report_.say_in(kind, known_name(name), sm.getBufferData(file), offset, message.text);
}

void ClangErrors::note_reader(const clang::SourceManager& sm, const Message& error) {
  if (reading_.asked.empty() || noted_reader_) return;
  noted_reader_ = true;
  const clang::SourceLocation where = sm.getFileLoc(error.where);
  const auto [file, offset] = sm.getDecomposedLoc(where);
  const StringRef before = sm.getBufferData(file).take_front(offset).rtrim();
  const bool comma =
      error.text == "expected ')'" && *sm.getCharacterData(where) == '"' && before.ends_with(")");
  say(Report::Kind::note, sm,
      {error.where, comma
                        ? "a comma is missing between operands of this assembly, which nvcc takes "
                          "and Clang does not: write it"
                        : "kernels are read with Clang, which says this; if nvcc takes the file, "
                          "write these lines as standard C++ has them"});
}

bool ClangErrors::in_text(const clang::SourceManager& sm, clang::SourceLocation where) const {
  const auto [file, offset] = sm.getDecomposedLoc(sm.getFileLoc(where));
  return file == sm.getMainFileID() && offset <= text_.size();
}

namespace {

// Whether the error is about code that nvcc accepts and compiles as written. `code` starts at the
// error.
bool nvcc_takes(unsigned id, StringRef code) {
  switch (id) {
    // A % before a name in asm: nvcc reads it as %%. The operands are known nevertheless.
    case clang::diag::err_asm_invalid_escape:
    // An operand that asm does not have: nvcc refuses such asm where it compiles it, so this asm
    // must be in a branch of a template that is not compiled.
    case clang::diag::err_asm_invalid_operand_number:
    // A constructor of a __shared__ variable: nvcc warns of it and does not call it.
    case clang::diag::err_shared_var_init:
    // A default argument that another declaration has too: nvcc uses the first.
    case clang::diag::err_param_default_argument_template_redecl:
      return true;
    // alignas behind __shared__: the alignment of shared memory has no influence on addresses in
    // the output.
    case clang::diag::err_attributes_not_allowed:
    case clang::diag::err_attribute_not_type_attr:
      return code.starts_with("alignas");
    default:
      return false;
  }
}

}  // namespace

// A missing header in quotes is the user's own and may define anything. A missing header in <> is
// not included by generated code either.
bool ClangErrors::matters_not(const clang::SourceManager& sm, const Held& held) {
  if (held.id != clang::diag::err_pp_file_not_found) return true;
  if (*sm.getCharacterData(held.error.where) != '<') return false;
  Message message = held.error;
  message.text += "; what needs it is not read";
  say(Report::Kind::warning, sm, message);
  return true;
}

void ClangErrors::settle(const clang::SourceManager& sm, const Reached* reached) {
  std::stable_partition(held_.begin(), held_.end(),
                        [&](const Held& held) { return in_text(sm, held.error.where); });
  for (const Held& held : held_) {
    const bool in_reach = !reached || reached->covers(held.error.where);
    if (reached && (in_reach ? nvcc_takes(held.id, sm.getCharacterData(held.error.where))
                             : matters_not(sm, held))) {
      if (in_text(sm, held.error.where))
        left_out_.push_back(sm.getFileOffset(sm.getFileLoc(held.error.where)));
      continue;
    }
    say(Report::Kind::error, sm, held.error);
    if (held.id != clang::diag::err_pp_file_not_found) note_reader(sm, held.error);
    for (const Message& note : held.notes) {
      if (sm.getFileID(sm.getFileLoc(note.where)) != sm.getMainFileID() || in_text(sm, note.where))
        say(Report::Kind::note, sm, note);
    }
  }
  held_.clear();
}

}  // namespace tilepost
