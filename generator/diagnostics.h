// Diagnostics in a compiler's form: file:line:col: error: text, the source line, a caret, notes.
//
// A phase reports all it finds and the driver stops after the phase; nothing is written before
// every phase has passed.
#pragma once

#include <string>

#include "llvm/ADT/Twine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

class Diagnostics {
 public:
  // At most this many errors are printed; a last line counts the rest.
  static constexpr int kMaxErrors = 20;

  explicit Diagnostics(llvm::raw_ostream& stream, bool color = false);
  ~Diagnostics();
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  // Makes a text known under a name, so that locations inside it can be reported. The returned
  // pointer addresses the copy that locations must point into; it lives as long as this object.
  llvm::StringRef add_source(llvm::StringRef name, llvm::StringRef text);

  // Messages start in lower case, have no full stop, quote the user's words in '…', and state the
  // value and the bound. An invalid range prints without source line: "tilepost: error: …".
  void error(llvm::SMRange where, const llvm::Twine& message);
  void error(const llvm::Twine& message) { error(llvm::SMRange(), message); }
  void warning(llvm::SMRange where, const llvm::Twine& message);
  void note(llvm::SMRange where, const llvm::Twine& message);

  int errors() const { return errors_; }
  bool ok() const { return errors_ == 0; }
  llvm::SourceMgr& sources() { return sources_; }

 private:
  void print(llvm::SMRange where, llvm::SourceMgr::DiagKind kind, const llvm::Twine& message);

  llvm::raw_ostream& stream_;
  bool color_;
  int errors_ = 0;
  llvm::SourceMgr sources_;
};

// ", did you mean 'x'?" for the choice nearest to `word`, or "" if none is near.
std::string did_you_mean(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> choices);

}  // namespace tilepost
