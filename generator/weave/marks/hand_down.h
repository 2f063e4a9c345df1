// Hands a value from the kernel down to the functions that need it. The value becomes their first
// parameter. Their callers pass it on, and the lambdas in between capture it.
#pragma once

#include <string>
#include <vector>

#include "generator/weave/marks/calls.h"
#include "generator/weave/pieces/pieces.h"
#include "llvm/ADT/SetVector.h"

namespace tilepost {

// The references in the pieces that are kept.
std::vector<Reference> kept_references(const Parsed& parsed, const Pieces& pieces);

// How the code spells the value that is handed down, and how messages name its use.
struct Handed {
  std::string parameter;  // "const View& view_"
  std::string argument;   // "view_"
  std::string capture;    // of a lambda: "&view_"
  std::string use;        // what a function that needs the value does: "carries a mark"
};

// All declarations of one function, with the explicit specialisations of a template.
std::vector<const clang::FunctionDecl*> declarations_of(const clang::FunctionDecl* function);

// The ( of the function's parameters; null for an implicit declaration, which has none.
const Token* open_of(const Parsed& parsed, const clang::FunctionDecl* function);

// Puts `parameter` between the parentheses of a function without any: `()` or `(void)`.
void set_only_parameter(const Parsed& parsed, const Token* open, const std::string& parameter,
                        Edits& edits);

class HandDown {
 public:
  // `kernel`, a representative, already has the value. `references` are kept_references().
  HandDown(const Parsed& parsed, const Pieces& pieces, const std::vector<Reference>& references,
           const clang::FunctionDecl* kernel, Handed handed, Edits& edits)
      : parsed_(parsed),
        pieces_(pieces),
        references_(references),
        kernel_(kernel),
        handed_(std::move(handed)),
        edits_(edits) {}

  // Gives the scope of a reference the value: the function gets the parameter, and the lambdas
  // capture it. Refuses a scope where that is impossible, and then returns false. `what` names the
  // code that needs the value there, for the message.
  bool enter(const Reference& reference, const std::string& what);
  // Makes the value the first argument of a call.
  void pass_to(const CallTokens& tokens, const Reference& reference);
  // Adds all parameters and passes the value on in all callers. Call it after enter() for every
  // reference that needs the value by itself.
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
