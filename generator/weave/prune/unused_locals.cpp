#include <set>

#include "clang/AST/Attr.h"
#include "generator/clang/tree/visitor.h"
#include "generator/weave/passes.h"
#include "generator/weave/prune/layout.h"
#include "llvm/ADT/DenseMap.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;

// A local variable with a statement of its own.
struct Local {
  const clang::VarDecl* variable;
  Range statement;
};

// Collects local variables, and where the text names them.
class LocalVariables final : public AstVisitor {
 public:
  explicit LocalVariables(const Parsed& parsed) : parsed_(parsed) {}

  std::vector<Local> locals;
  llvm::DenseMap<const clang::VarDecl*, std::vector<size_t>> uses;

  bool VisitDeclStmt(clang::DeclStmt* statement) override {
    const auto* variable =
        statement->isSingleDecl() ? dyn_cast<clang::VarDecl>(statement->getSingleDecl()) : nullptr;
    const bool in_macro =
        statement->getBeginLoc().isMacroID() || statement->getEndLoc().isMacroID();
    if (variable && !in_macro && is_value(variable))
      locals.push_back({variable, range_of(parsed_, statement)});
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override {
    const auto* variable = dyn_cast<clang::VarDecl>(name->getDecl());
    const auto offset = parsed_.expanded(name->getLocation());
    if (variable && offset) uses[variable].push_back(*offset);
    return true;
  }
  // The tree walk does not visit the attributes of statements, such as #pragma unroll kDepth.
  bool VisitAttributedStmt(clang::AttributedStmt* statement) override {
    for (const clang::Attr* attribute : statement->getAttrs())
      TraverseAttr(const_cast<clang::Attr*>(attribute));
    return true;
  }

 private:
  // Whether dropping the variable loses nothing but its value. It must not be shared memory, its
  // initialiser must have no side effects, and it must need no destructor.
  bool is_value(const clang::VarDecl* variable) const {
    const clang::QualType type = variable->getType();
    return (variable->hasLocalStorage() || variable->isConstexpr()) && !type->isReferenceType() &&
           !type->isDependentType() && !type.isVolatileQualified() &&
           type.isDestructedType() == clang::QualType::DK_none &&
           !isa<clang::DecompositionDecl>(variable) && !variable->hasAttr<clang::UnusedAttr>() &&
           (!variable->getInit() || !variable->getInit()->HasSideEffects(parsed_.ast));
  }

  const Parsed& parsed_;
};

}  // namespace

void drop_unused_locals(const Parsed& parsed, Edits& edits) {
  LocalVariables visitor(parsed);
  for (clang::Decl* decl : parsed.ast.getTranslationUnitDecl()->decls())
    if (parsed.expanded(decl->getBeginLoc())) visitor.TraverseDecl(decl);
  std::set<llvm::StringRef> hidden;  // words that this parse did not see
  for (const Range skipped : parsed.skipped)
    for (const llvm::StringRef word : identifiers(parsed, skipped)) hidden.insert(word);
  const StatementLines layout(parsed);
  std::set<const clang::VarDecl*> dropped;
  // If a variable is dropped, another one may become unused.
  for (size_t before = ~size_t{0}; before != dropped.size();) {
    before = dropped.size();
    for (const Local& local : visitor.locals) {
      const std::vector<size_t>& uses = visitor.uses[local.variable];
      const bool used = uses.empty() ||  // the author never used it, so it stays
                        !llvm::all_of(uses, [&](size_t use) { return edits.replaces(use); });
      if (used || dropped.count(local.variable) || hidden.count(local.variable->getName()) ||
          edits.replaces(local.statement.begin))
        continue;
      layout.erase_statement(local.statement, edits);
      dropped.insert(local.variable);
    }
  }
}

}  // namespace tilepost
