#include "generator/weave/marks/calls.h"

#include <iterator>

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "llvm/ADT/DenseSet.h"

namespace tilepost {
namespace {

// The marks' names, in the order of the enumerators.
constexpr const char* kMarkNames[] = {"",
                                      "tunable",
                                      "experts",
                                      "num_tiles",
                                      "tile",
                                      "out",
                                      "out_base",
                                      "out_coord",
                                      "out_map",
                                      "open_out_maps",
                                      "num_sources",
                                      "begin_sources",
                                      "end_sources",
                                      "num_pushes",
                                      "push_map",
                                      "stores_done",
                                      "await_source",
                                      "source_map",
                                      "pace",
                                      "in_map",
                                      "open_in_map",
                                      "input_ready",
                                      "input_has_come",
                                      "open_input",
                                      "helper_warp",
                                      "finish_tasks",
                                      "open_exchange",
                                      "num_places",
                                      "out_place",
                                      "part_stored",
                                      "exchange_tiles",
                                      "finish_exchange",
                                      "exchange_rows",
                                      "tile_done",
                                      "in_scales"};
static_assert(std::size(kMarkNames) == static_cast<size_t>(Mark::in_scales) + 1);

using clang::dyn_cast;
using clang::isa;

const clang::FunctionDecl* function_of(const clang::NamedDecl* decl) {
  decl = decl->getUnderlyingDecl();
  if (const auto* found = dyn_cast<clang::FunctionTemplateDecl>(decl)) {
    return found->getTemplatedDecl();
  }
  return dyn_cast<clang::FunctionDecl>(decl);
}

bool says_place(const clang::VarDecl* variable) {
  if (!variable->getIdentifier() || !variable->hasExternalStorage()) return false;
  if (!variable->getDeclContext()->getRedeclContext()->isTranslationUnit()) return false;
  return variable->getName() == "blockIdx" || variable->getName() == "gridDim";
}

class PlaceReferences : public clang::RecursiveASTVisitor<PlaceReferences> {
 public:
  using Base = clang::RecursiveASTVisitor<PlaceReferences>;
  std::vector<Reference> references;

  bool shouldVisitTemplateInstantiations() const { return true; }

  bool TraverseDecl(clang::Decl* decl) {
    const auto* function = decl ? dyn_cast<clang::FunctionDecl>(decl) : nullptr;
    const auto* parameter = decl ? dyn_cast<clang::ParmVarDecl>(decl) : nullptr;
    Scope outer = scope_;
    if (function) scope_ = {function, {}, false};
    if (parameter) scope_.default_argument = true;
    const bool go_on = Base::TraverseDecl(decl);
    scope_ = std::move(outer);
    return go_on;
  }

  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) {
    scope_.lambdas.push_back(lambda);
    const bool go_on = Base::TraverseLambdaExpr(lambda);
    scope_.lambdas.pop_back();
    return go_on;
  }

  bool VisitCallExpr(clang::CallExpr* call) {
    const clang::Expr* callee = call->getCallee()->IgnoreParenImpCasts();
    if (add(callee, call)) called_.insert(callee);
    return true;
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr* name) { return visit_name(name); }
  bool VisitMemberExpr(clang::MemberExpr* name) { return visit_name(name); }
  bool VisitOverloadExpr(clang::OverloadExpr* name) { return visit_name(name); }

 private:
  bool visit_name(const clang::Expr* name) {
    if (!called_.contains(name)) add(name, nullptr);
    return true;
  }

  bool add(const clang::Expr* name, const clang::CallExpr* call) {
    Reference reference;
    if (const auto* resolved = dyn_cast<clang::DeclRefExpr>(name)) {
      add_target(reference, resolved->getDecl());
    } else if (const auto* member = dyn_cast<clang::MemberExpr>(name)) {
      add_target(reference, member->getMemberDecl());
    } else if (const auto* lookup = dyn_cast<clang::OverloadExpr>(name)) {
      for (const clang::NamedDecl* decl : lookup->decls()) add_target(reference, decl);
    }
    const bool is_call = !reference.functions.empty() || reference.mark != Mark::none;
    if (!is_call && !reference.place) return false;
    reference.name = name;
    reference.call = call;
    reference.scope = scope_;
    references.push_back(std::move(reference));
    return true;
  }

  void add_target(Reference& reference, const clang::NamedDecl* decl) {
    if (const Mark mark = mark_of(decl); mark != Mark::none) {
      reference.mark = mark;
    } else if (const clang::FunctionDecl* function = function_of(decl)) {
      reference.functions.push_back(representative(function));
    } else if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) {
      reference.place = says_place(variable);
    }
  }

  Scope scope_;
  llvm::DenseSet<const clang::Expr*> called_;
};

// The tokens of a name: the first token of its qualifiers, the name itself, and the > of its
// template arguments. The object of a member is not included.
struct NameTokens {
  clang::SourceLocation first, last, last_argument;
};

NameTokens name_tokens(const clang::Expr* name) {
  if (const auto* resolved = dyn_cast<clang::DeclRefExpr>(name))
    return {resolved->getBeginLoc(), resolved->getLocation(), resolved->getRAngleLoc()};
  if (const auto* member = dyn_cast<clang::MemberExpr>(name))
    return {member->getMemberLoc(), member->getMemberLoc(), member->getRAngleLoc()};
  const auto* lookup = clang::cast<clang::OverloadExpr>(name);
  const bool member = isa<clang::UnresolvedMemberExpr>(lookup);
  return {member ? lookup->getNameLoc() : lookup->getBeginLoc(), lookup->getNameLoc(),
          lookup->getRAngleLoc()};
}

}  // namespace

const char* name_of(Mark mark) {
  return kMarkNames[static_cast<size_t>(mark)];
}

Mark mark_named(llvm::StringRef name) {
  for (size_t mark = 1; mark < std::size(kMarkNames); ++mark)
    if (name == kMarkNames[mark]) return static_cast<Mark>(mark);
  return Mark::none;
}

Mark mark_of(const clang::NamedDecl* decl) {
  const clang::FunctionDecl* function = function_of(decl);
  if (!function || !function->getIdentifier()) return Mark::none;
  const auto* space = dyn_cast<clang::NamespaceDecl>(function->getDeclContext());
  if (!space || space->getName() != "tilepost") return Mark::none;
  if (!space->getParent()->getRedeclContext()->isTranslationUnit()) return Mark::none;
  return mark_named(function->getName());
}

const clang::FunctionDecl* representative(const clang::FunctionDecl* function) {
  if (const auto* primary = function->getPrimaryTemplate()) {
    while (const auto* member = primary->getInstantiatedFromMemberTemplate()) primary = member;
    return primary->getTemplatedDecl()->getCanonicalDecl();
  }
  if (const auto* pattern = function->getTemplateInstantiationPattern()) function = pattern;
  return function->getCanonicalDecl();
}

std::vector<Reference> find_references(const Parsed& parsed) {
  PlaceReferences visitor;
  for (clang::Decl* decl : parsed.ast.getTranslationUnitDecl()->decls()) {
    if (parsed.in_main(decl) || parsed.expanded(decl->getBeginLoc())) visitor.TraverseDecl(decl);
  }
  return std::move(visitor.references);
}

std::optional<CallTokens> find_call_tokens(const Parsed& parsed, const Reference& reference,
                                           llvm::StringRef what) {
  const auto refuse = [&](const llvm::Twine& reason) {
    parsed.error(reference.name->getBeginLoc(), reason);
    return std::nullopt;
  };
  const auto [first, last, last_argument] = name_tokens(reference.name);
  const auto begin = parsed.spelled(first);
  const auto end = parsed.spelled(last);
  if (!begin || !end) {
    if (!parsed.expanded(last))
      return refuse("'" + what +
                    "' is called from a header; move the "
                    "call into the kernel's file");
    return refuse("'" + what +
                  "' is pasted together by the preprocessor (##) and cannot be "
                  "rewritten; spell it out");
  }
  // Only names, :: and comments may stand in between. Otherwise macros supply the parts from
  // different places.
  const Token* name = parsed.tokens.at(*begin);
  while (name && name->begin < *end) {
    const bool part = name->kind == clang::tok::raw_identifier ||
                      name->kind == clang::tok::coloncolon || name->kind == clang::tok::comment;
    name = part ? name + 1 : nullptr;
  }
  const Token* close = name;
  if (name && last_argument.isValid()) {
    const auto angle = parsed.spelled(last_argument);
    close = angle && *angle > *end ? parsed.tokens.at(*angle) : nullptr;
  }
  const Token* open = close ? parsed.tokens.next(close) : nullptr;
  if (!open || open->kind != clang::tok::l_paren) {
    return refuse("the call of '" + what +
                  "' is put together from several macros or "
                  "parenthesised and cannot be rewritten; write the name and its '(' side by side");
  }
  return CallTokens{*begin, name->end, open, last_argument.isValid()};
}

}  // namespace tilepost
