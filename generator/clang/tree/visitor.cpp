#include "generator/clang/tree/visitor.h"

#include "clang/AST/RecursiveASTVisitor.h"

namespace tilepost {
namespace {

class Walk : public clang::RecursiveASTVisitor<Walk> {
 public:
  explicit Walk(AstVisitor& hooks) : hooks_(hooks) {}

  bool shouldVisitImplicitCode() const { return hooks_.shouldVisitImplicitCode(); }

#define TILEPOST_HOOK(CLASS)              \
  bool Visit##CLASS(clang::CLASS* node) { \
    return hooks_.Visit##CLASS(node);     \
  }
  TILEPOST_VISITED_NODES(TILEPOST_HOOK)
#undef TILEPOST_HOOK
  bool VisitTypedefTypeLoc(clang::TypedefTypeLoc type) {
    return hooks_.VisitTypedefTypeLoc(type);
  }
  bool VisitTagTypeLoc(clang::TagTypeLoc type) {
    return hooks_.VisitTagTypeLoc(type);
  }

 private:
  AstVisitor& hooks_;
};

}  // namespace

bool AstVisitor::TraverseDecl(clang::Decl* decl) {
  return Walk(*this).TraverseDecl(decl);
}

bool AstVisitor::TraverseStmt(clang::Stmt* statement) {
  return Walk(*this).TraverseStmt(statement);
}

bool AstVisitor::TraverseType(clang::QualType type) {
  return Walk(*this).TraverseType(type);
}

bool AstVisitor::TraverseAttr(clang::Attr* attribute) {
  return Walk(*this).TraverseAttr(attribute);
}

bool AstVisitor::TraverseTemplateArgument(const clang::TemplateArgument& argument) {
  return Walk(*this).TraverseTemplateArgument(argument);
}

}  // namespace tilepost
