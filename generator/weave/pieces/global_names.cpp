#include "generator/weave/pieces/global_names.h"

#include <set>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "generator/clang/tree/reached.h"
#include "llvm/ADT/STLExtras.h"

namespace tilepost {
namespace {

using clang::dyn_cast;

bool is_global(const clang::NestedNameSpecifier* qualifier) {
  return qualifier && qualifier->getKind() == clang::NestedNameSpecifier::Global;
}

class GlobalQualifiers : public clang::RecursiveASTVisitor<GlobalQualifiers> {
 public:
  using Base = clang::RecursiveASTVisitor<GlobalQualifiers>;

  GlobalQualifiers(const Parsed& parsed, const Pieces& pieces) : parsed_(parsed), pieces_(pieces) {}

  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc qualifier) {
    if (qualifier && is_global(qualifier.getNestedNameSpecifier()->getPrefix()))
      note(qualifier.getNestedNameSpecifier()->getAsNamespace(), qualifier.getBeginLoc());
    return Base::TraverseNestedNameSpecifierLoc(qualifier);
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) {
    if (is_global(name->getQualifier())) note(name->getDecl(), name->getBeginLoc());
    return true;
  }
  bool VisitOverloadExpr(clang::OverloadExpr* name) {
    if (is_global(name->getQualifier()))
      for (const clang::NamedDecl* decl : name->decls())
        note(decl->getUnderlyingDecl(), name->getBeginLoc());
    return true;
  }
  bool VisitElaboratedTypeLoc(clang::ElaboratedTypeLoc type) {
    if (!is_global(type.getTypePtr()->getQualifier())) return true;
    if (const auto* alias = type.getTypePtr()->getAs<clang::TypedefType>())
      note(alias->getDecl(), type.getBeginLoc());
    else
      note(type.getType()->getAsTagDecl(), type.getBeginLoc());
    return true;
  }

 private:
  void note(const clang::NamedDecl* decl, clang::SourceLocation where) {
    const auto at = parsed_.expanded(where);
    const bool own = decl && llvm::all_of(decl->redecls(), [&](const clang::Decl* each) {
                       return parsed_.in_main(each);
                     });
    if (!own || !at || !pieces_.kept(*at) || !said_.insert(*at).second) return;
    parsed_.error(where, "'::" + decl->getNameAsString() +
                             "' is a name of the kernel's file, which generated code has in a "
                             "namespace; leave out the first '::'");
  }

  const Parsed& parsed_;
  const Pieces& pieces_;
  std::set<size_t> said_;
};

}  // namespace

std::string using_of_global(const Parsed& parsed, const clang::FunctionDecl* kernel) {
  std::set<std::string> own, others;
  const Reached reached(kernel, parsed.ast.getSourceManager());
  for (const clang::Decl* decl : reached.declarations()) {
    const auto* function = dyn_cast<clang::FunctionDecl>(decl);
    if (function && function->getIdentifier() &&
        function->getDeclContext()->getRedeclContext()->isTranslationUnit())
      (parsed.in_main(function) ? own : others).insert(function->getNameAsString());
  }
  std::string text;
  for (const std::string& name : own)
    if (others.contains(name)) text += "using ::" + name + ";\n";
  return text.empty() ? text : text + "\n";
}

void check_global_names(const Parsed& parsed, const Pieces& pieces) {
  GlobalQualifiers(parsed, pieces).TraverseAST(parsed.ast);
}

}  // namespace tilepost
