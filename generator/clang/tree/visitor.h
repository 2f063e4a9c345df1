#pragma once

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/TypeLoc.h"

// The nodes that an AstVisitor has hooks for: those that its users ask for, and no others.
#define TILEPOST_VISITED_NODES(NODE) \
  NODE(Stmt)                         \
  NODE(AsmStmt)                      \
  NODE(AttributedStmt)               \
  NODE(DeclStmt)                     \
  NODE(GCCAsmStmt)                   \
  NODE(LabelStmt)                    \
  NODE(SwitchCase)                   \
  NODE(Expr)                         \
  NODE(BinaryOperator)               \
  NODE(CallExpr)                     \
  NODE(CXXConstructExpr)             \
  NODE(CXXDeleteExpr)                \
  NODE(CXXNewExpr)                   \
  NODE(DeclRefExpr)                  \
  NODE(MemberExpr)                   \
  NODE(OverloadExpr)                 \
  NODE(PredefinedExpr)               \
  NODE(SourceLocExpr)                \
  NODE(UnaryExprOrTypeTraitExpr)     \
  NODE(UnaryOperator)                \
  NODE(FunctionDecl)                 \
  NODE(NamedDecl)                    \
  NODE(ValueDecl)                    \
  NODE(VarDecl)                      \
  NODE(TagType)

namespace tilepost {

// Walks a part of Clang's tree and calls a hook at each node, as RecursiveASTVisitor does. Its
// hooks are virtual, so the walk is compiled once: each class that is derived from
// RecursiveASTVisitor takes seven seconds of compiling. A class that changes the walk itself
// (Traverse…) still derives from that one.
class AstVisitor {
 public:
  // Each of these walks one part. Returns false if a hook has ended the walk.
  bool TraverseDecl(clang::Decl* decl);
  bool TraverseStmt(clang::Stmt* statement);
  bool TraverseType(clang::QualType type);
  bool TraverseAttr(clang::Attr* attribute);
  bool TraverseTemplateArgument(const clang::TemplateArgument& argument);

  // Whether to walk code that Clang has added, such as implicit constructors.
  virtual bool shouldVisitImplicitCode() const { return false; }

  // A hook is called with a node of its class or of a derived one, from the base to the derived
  // class. It returns whether to go on.
#define TILEPOST_HOOK(CLASS)                 \
  virtual bool Visit##CLASS(clang::CLASS*) { \
    return true;                             \
  }
  TILEPOST_VISITED_NODES(TILEPOST_HOOK)
#undef TILEPOST_HOOK
  virtual bool VisitTypedefTypeLoc(clang::TypedefTypeLoc) {
    return true;
  }
  virtual bool VisitTagTypeLoc(clang::TagTypeLoc) {
    return true;
  }

 protected:
  AstVisitor() = default;
  AstVisitor(const AstVisitor&) = default;
  AstVisitor& operator=(const AstVisitor&) = default;
  ~AstVisitor() = default;
};

}  // namespace tilepost
