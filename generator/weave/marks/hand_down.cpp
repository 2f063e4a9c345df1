#include "generator/weave/marks/hand_down.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/TypeLoc.h"

namespace tilepost {

using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

namespace {

const clang::FunctionDecl* function_itself(const Scope& scope) {
  return scope.function && scope.lambdas.empty() ? representative(scope.function) : nullptr;
}

// Names the kind of a member function to which no parameter can be added; null for other functions.
const char* kind_without_parameter(const clang::FunctionDecl* function) {
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  if (!method) return nullptr;
  if (isa<clang::CXXConstructorDecl>(method)) return "constructor";
  if (isa<clang::CXXDestructorDecl>(method)) return "destructor";
  if (isa<clang::CXXConversionDecl>(method)) return "conversion function";
  return method->isVirtual() ? "virtual function" : nullptr;
}

std::string name_of(const Reference& reference) {
  return reference.functions.front()->getNameAsString();
}

}  // namespace

std::vector<Reference> kept_references(const Parsed& parsed, const Pieces& pieces) {
  std::vector<Reference> kept;
  for (Reference& reference : find_references(parsed)) {
    const auto at = parsed.expanded(reference.name->getBeginLoc());
    if (at && pieces.kept(*at)) kept.push_back(std::move(reference));
  }
  return kept;
}

std::vector<const clang::FunctionDecl*> declarations_of(const clang::FunctionDecl* function) {
  std::vector<const clang::FunctionDecl*> all(function->redecls_begin(), function->redecls_end());
  if (const auto* pattern = function->getDescribedFunctionTemplate()) {
    all.clear();
    for (const auto* one : pattern->redecls()) {
      all.push_back(clang::cast<clang::FunctionTemplateDecl>(one)->getTemplatedDecl());
    }
    for (const clang::FunctionDecl* special : pattern->specializations()) {
      if (special->getTemplateSpecializationKind() != clang::TSK_ExplicitSpecialization) continue;
      all.insert(all.end(), special->redecls_begin(), special->redecls_end());
    }
  }
  return all;
}

const Token* open_of(const Parsed& parsed, const clang::FunctionDecl* function) {
  const clang::FunctionTypeLoc type = function->getFunctionTypeLoc();
  const auto offset = type ? parsed.spelled(type.getLParenLoc()) : std::nullopt;
  const Token* open = offset ? parsed.tokens.at(*offset) : nullptr;
  if (!open) {
    parsed.error(function->getLocation(), "the parameters of '" + function->getName() +
                                              "' are not written here, so none can be added; "
                                              "declare it with a parameter list");
  }
  return open;
}

void set_only_parameter(const Parsed& parsed, const Token* open, const std::string& parameter,
                        Edits& edits) {
  const Token* first = parsed.tokens.next(open);
  const bool is_void = first && parsed.tokens.text(*first) == "void";
  edits.replace(open->end, is_void ? first->end : open->end, parameter);
}

bool HandDown::enter(const Reference& reference, const std::string& what) {
  const Scope& scope = reference.scope;
  const clang::SourceLocation where = reference.name->getBeginLoc();
  if (!scope.function) {
    parsed_.error(where, what + " is used outside of a function; move it into the kernel");
    return false;
  }
  if (scope.default_argument) {
    parsed_.error(where, what + " is used in a default argument; pass it at the call");
    return false;
  }
  if (const char* kind = kind_without_parameter(scope.function)) {
    const auto* method = clang::cast<clang::CXXMethodDecl>(scope.function);
    parsed_.error(where, what + " is used in a " + kind + " of '" +
                             method->getParent()->getNameAsString() +
                             "', where the weaver cannot add a parameter; move it to a member "
                             "function that is called by its name");
    return false;
  }
  if (scope.function->isOverloadedOperator()) {
    parsed_.error(where, what +
                             " is used in an overloaded operator, where the weaver cannot add "
                             "a parameter; move it to a function with a name");
    return false;
  }
  for (const clang::LambdaExpr* lambda : scope.lambdas) capture(lambda);
  need_.insert(representative(scope.function));
  return true;
}

void HandDown::capture(const clang::LambdaExpr* lambda) {
  if (lambda->getCaptureDefault() != clang::LCD_None) return;
  const auto open = parsed_.spelled(lambda->getIntroducerRange().getBegin());
  if (!open) {
    parsed_.error(lambda->getBeginLoc(),
                  "a mark is used in a lambda that a macro pastes "
                  "together; write [&] in the kernel's file");
    return;
  }
  const bool empty = lambda->capture_begin() == lambda->capture_end();
  edits_.insert(*open + 1, handed_.capture + (empty ? "" : ", "));
}

void HandDown::pass_to(const CallTokens& tokens, const Reference& reference) {
  const Token* first = parsed_.tokens.next(tokens.open);
  const bool empty = first && first->kind == clang::tok::r_paren;
  const bool no_arguments =
      reference.call->getNumArgs() == 0 || isa<clang::CXXDefaultArgExpr>(reference.call->getArg(0));
  if (!empty && no_arguments) {
    parsed_.error(reference.name->getBeginLoc(),
                  "a macro supplies an empty argument list here; write '()'");
  }
  edits_.insert(tokens.open->end, handed_.argument + (empty ? "" : ", "));
}

void HandDown::run() {
  spread();
  for (const Reference& reference : references_) pass_on(reference);
  for (const clang::FunctionDecl* function : need_) add_parameter(function);
  check_skipped();
}

// The callers of functions that need the value need it too.
void HandDown::spread() {
  for (bool grew = true; grew && parsed_.report.ok();) {
    const size_t before = need_.size();
    for (const Reference& reference : references_) {
      if (!names_needing(reference) || function_itself(reference.scope) == kernel_) continue;
      enter(reference, "'" + name_of(reference) + "', which " + handed_.use + ",");
    }
    grew = need_.size() > before;
  }
}

bool HandDown::names_needing(const Reference& reference) const {
  return std::any_of(reference.functions.begin(), reference.functions.end(),
                     [&](const clang::FunctionDecl* function) { return need_.count(function); });
}

void HandDown::pass_on(const Reference& reference) {
  if (!names_needing(reference)) return;
  const std::string name = name_of(reference);
  const clang::SourceLocation where = reference.name->getBeginLoc();
  for (const clang::FunctionDecl* function : reference.functions) {
    if (function == kernel_) {
      parsed_.error(where, "the kernel '" + name +
                               "' is launched or named by code it reaches "
                               "itself; that cannot be woven");
      return;
    }
    if (need_.count(function)) continue;
    parsed_.error(where, "'" + name + "' may mean several functions here, and not each of them " +
                             handed_.use + "; give them different names");
    parsed_.note(function->getLocation(), "this one does not");
    return;
  }
  if (!reference.call) {
    parsed_.error(where, "the address of '" + name + "', which " + handed_.use +
                             ", is taken: calls through a pointer cannot be given what it needs; "
                             "call it by name");
    return;
  }
  if (isa<clang::CXXOperatorCallExpr>(reference.call)) return;  // enter() refuses it
  if (const auto tokens = find_call_tokens(parsed_, reference, name)) pass_to(*tokens, reference);
}

// The value becomes the first parameter, because default arguments and packs must stay last.
void HandDown::add_parameter(const clang::FunctionDecl* function) {
  if (function == kernel_) return;
  check_overloads(function);
  for (const clang::FunctionDecl* one : declarations_of(function)) {
    const Token* open = open_of(parsed_, one);
    if (!open) continue;
    if (one->param_empty() && !one->isVariadic()) {
      set_only_parameter(parsed_, open, handed_.parameter, edits_);
    } else {
      edits_.insert(open->end, handed_.parameter + ", ");
    }
  }
}

// Refuses overloads that the new parameter may confuse. If the first parameter of another function
// with this name can take a block's index, a call may then choose the other function.
void HandDown::check_overloads(const clang::FunctionDecl* function) const {
  for (const clang::NamedDecl* decl :
       function->getDeclContext()->getRedeclContext()->lookup(function->getDeclName())) {
    const clang::FunctionDecl* other = decl->getAsFunction();
    if (!other || other->getNumParams() < 2 || need_.count(representative(other))) continue;
    const clang::QualType first = other->getParamDecl(0)->getType().getNonReferenceType();
    const auto* record = first->getAsCXXRecordDecl();
    if (!first->isTemplateTypeParmType() && !(record && record->getName() == "uint3")) continue;
    parsed_.error(function->getLocation(),
                  "'" + function->getNameAsString() +
                      "' may mean several functions here, and not each of them " + handed_.use +
                      "; give them different names");
    parsed_.note(other->getLocation(), "this one does not");
  }
}

// Refuses code that the preprocessor left out of this parse, if the code names a function that gets
// the new parameter.
void HandDown::check_skipped() {
  for (const Range skipped : parsed_.skipped) {
    for (const StringRef word : identifiers(parsed_, skipped)) {
      const auto at = static_cast<size_t>(word.data() - parsed_.text.text.data());
      for (const clang::FunctionDecl* function : need_) {
        if (function == kernel_ || !function->getIdentifier() || function->getName() != word ||
            !pieces_.kept(at)) {
          continue;
        }
        parsed_.error_at({at, at + word.size()},
                         "the preprocessor leaves out this use of '" + word + "', which " +
                             handed_.use +
                             ", when the kernel is woven; use `if constexpr` or move it out of "
                             "the #if");
      }
    }
  }
}

}  // namespace tilepost
