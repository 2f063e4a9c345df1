// Hands a value from the kernel down to the helpers that need it: as their first parameters,
// through their callers and the lambdas in between.
#pragma once

#include <string>
#include <vector>

#include "generator/weave/marks/calls.h"
#include "generator/weave/pieces/pieces.h"
#include "llvm/ADT/SetVector.h"

namespace tilepost {

// The references in what is kept.
std::vector<Reference> kept_references(const Parsed& parsed, const Pieces& pieces);

// What is handed down, as the code spells it and as messages call it.
struct Handed {
  std::string parameter;  // "const View& view_"
  std::string argument;   // "view_"
  std::string capture;    // of a lambda: "&view_"
  std::string use;        // what a function that needs it does: "carries a mark"
};

// All of one function: redeclarations, and the explicit specialisations of a template.
std::vector<const clang::FunctionDecl*> declarations_of(const clang::FunctionDecl* function);

// The ( of its parameters. An implicit declaration has none and needs none.
const Token* open_of(const Parsed& parsed, const clang::FunctionDecl* function);

// Puts `parameter` between the parentheses of a function without any: `()` or `(void)`.
void set_only_parameter(const Parsed& parsed, const Token* open, const std::string& parameter,
                        Edits& edits);

class HandDown {
 public:
  // `kernel`, a representative, has the value. `references` are those in what is kept.
  HandDown(const Parsed& parsed, const Pieces& pieces, const std::vector<Reference>& references,
           const clang::FunctionDecl* kernel, Handed handed, Edits& edits)
      : parsed_(parsed),
        pieces_(pieces),
        references_(references),
        kernel_(kernel),
        handed_(std::move(handed)),
        edits_(edits) {}

  // The scope of a reference gets hold of the value: its function needs the parameter, its lambdas
  // capture it. Refuses where that cannot be; `what` is what needs it.
  bool enter(const Reference& reference, const std::string& what);
  // Makes the value the first argument of a call.
  void pass_to(const CallTokens& tokens, const Reference& reference);
  // After all that need it by themselves have entered: their callers, and all the parameters.
  void run();

 private:
  void capture(const clang::LambdaExpr* lambda);
  void spread();
  bool names_needing(const Reference& reference) const;
  void pass_on(const Reference& reference);
  void add_parameter(const clang::FunctionDecl* function);
  void check_overloads(const clang::FunctionDecl* function) const;
  void check_skipped();

  const Parsed& parsed_;
  const Pieces& pieces_;
  const std::vector<Reference>& references_;
  const clang::FunctionDecl* kernel_;
  const Handed handed_;
  Edits& edits_;
  llvm::SetVector<const clang::FunctionDecl*> need_;  // in the order found
};

}  // namespace tilepost
