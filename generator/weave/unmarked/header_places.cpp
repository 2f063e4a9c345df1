#include "generator/weave/unmarked/header_places.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "llvm/ADT/SetVector.h"

namespace tilepost {
namespace {

using clang::dyn_cast;

// The functions that one reaches, and whether it reads its block's place.
class Reader : public clang::RecursiveASTVisitor<Reader> {
 public:
  llvm::SetVector<const clang::FunctionDecl*> reached;
  bool asks = false;

  bool shouldVisitImplicitCode() const { return true; }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) {
    const clang::ValueDecl* decl = name->getDecl();
    if (decl->getIdentifier() && clang::isa<clang::VarDecl>(decl))
      asks |= decl->getName() == "blockIdx" || decl->getName() == "gridDim";
    reach(dyn_cast<clang::FunctionDecl>(decl));
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* member) {
    reach(dyn_cast<clang::FunctionDecl>(member->getMemberDecl()));
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) {
    reach(made->getConstructor());
    return true;
  }

 private:
  void reach(const clang::FunctionDecl* function) {
    const clang::FunctionDecl* definition = nullptr;
    if (function && function->isDefined(definition)) reached.insert(definition);
  }
};

}  // namespace

void check_header_places(const Parsed& parsed, const clang::FunctionDecl* kernel) {
  llvm::SetVector<const clang::FunctionDecl*> all;
  all.insert(kernel);
  for (size_t at = 0; at < all.size(); ++at) {
    const clang::FunctionDecl* function = all[at];
    Reader reader;
    reader.TraverseStmt(function->getBody());
    if (reader.asks && !parsed.in_main(function)) {
      parsed.error(kernel->getLocation(),
                   "the kernel reaches '" + function->getQualifiedNameAsString() +
                       "' of a header, which reads blockIdx or gridDim: it would see the block "
                       "that runs, not the one whose tile is made; read them in the kernel's file");
      return;
    }
    all.insert(reader.reached.begin(), reader.reached.end());
  }
}

}  // namespace tilepost
