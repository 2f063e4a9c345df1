#include "generator/clang/tree/reached.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "generator/clang/tree/visitor.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;

// Collects every declaration that a piece of code names.
class NamedDeclarations final : public AstVisitor {
 public:
  explicit NamedDeclarations(llvm::SetVector<const clang::Decl*>& found) : found_(found) {}

  bool shouldVisitImplicitCode() const override { return true; }

  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override { return note(name->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* member) override { return note(member->getMemberDecl()); }
  bool VisitOverloadExpr(clang::OverloadExpr* name) override {
    for (const clang::NamedDecl* decl : name->decls()) note(decl->getUnderlyingDecl());
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construct) override {
    return note(construct->getConstructor());
  }
  bool VisitExpr(clang::Expr* expression) override { return note_type(expression->getType()); }
  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (const auto* record = variable->getType()->getAsCXXRecordDecl();
        record && record->hasDefinition()) {
      note(record->getDestructor());
    }
    return note_type(variable->getType());
  }
  bool VisitTypedefTypeLoc(clang::TypedefTypeLoc type) override {
    return note(type.getTypedefNameDecl());
  }
  bool VisitTagTypeLoc(clang::TagTypeLoc type) override { return note(type.getDecl()); }

 private:
  bool note(const clang::Decl* decl) {
    if (decl) found_.insert(decl->getCanonicalDecl());
    return true;
  }
  bool note_type(clang::QualType type) {
    if (type.isNull()) return true;
    while (!type->getPointeeType().isNull()) type = type->getPointeeType();
    return note(type->getAsTagDecl());
  }

  llvm::SetVector<const clang::Decl*>& found_;
};

// The definition that belongs to a declaration, or the declaration if there is none. For a template
// this is the definition of the instantiation.
const clang::Decl* definition_of(const clang::Decl* decl) {
  if (const auto* function = dyn_cast<clang::FunctionDecl>(decl)) {
    const clang::FunctionDecl* definition = nullptr;
    return function->isDefined(definition) ? definition : function;
  }
  if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) {
    const clang::VarDecl* definition = variable->getDefinition();
    return definition ? definition : variable;
  }
  if (const auto* tag = dyn_cast<clang::TagDecl>(decl)) {
    const clang::TagDecl* definition = tag->getDefinition();
    return definition ? definition : tag;
  }
  return decl;
}

}  // namespace

Reached::Reached(const clang::FunctionDecl* root, const clang::SourceManager& sm,
                 const clang::Decl* asking)
    : sm_(sm) {
  llvm::SetVector<const clang::Decl*> found;
  NamedDeclarations visitor(found);
  found.insert(root->getCanonicalDecl());
  if (asking) visitor.TraverseDecl(const_cast<clang::Decl*>(asking));
  for (size_t i = 0; i < found.size(); ++i) {
    const clang::Decl* decl = definition_of(found[i]);
    declarations_.insert(decl);
    add_range(decl->getSourceRange());
    // A class reaches its bases and fields. Its other members are reached only where code names
    // them.
    if (const auto* record = dyn_cast<clang::CXXRecordDecl>(decl)) {
      if (!record->hasDefinition()) continue;
      for (const clang::CXXBaseSpecifier& base : record->bases()) {
        visitor.TraverseType(base.getType());
        if (const auto* type = base.getType()->getAsCXXRecordDecl()) {
          found.insert(type->getCanonicalDecl());
        }
      }
      for (clang::FieldDecl* field : record->fields()) visitor.TraverseDecl(field);
      continue;
    }
    if (isa<clang::FunctionDecl, clang::VarDecl, clang::FieldDecl, clang::TypedefNameDecl>(decl)) {
      visitor.TraverseDecl(const_cast<clang::Decl*>(decl));
    }
    if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(decl)) {
      for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
        visitor.TraverseStmt(initializer->getInit());
      }
    }
  }
}

void Reached::add_range(clang::SourceRange range) {
  if (range.isInvalid()) return;
  const auto [file, begin] = sm_.getDecomposedLoc(sm_.getExpansionLoc(range.getBegin()));
  const auto [end_file, end] = sm_.getDecomposedLoc(sm_.getExpansionRange(range.getEnd()).getEnd());
  if (file == end_file) ranges_[file].push_back({begin, end});
}

bool Reached::holds(clang::SourceLocation where) const {
  const auto [file, offset] = sm_.getDecomposedLoc(where);
  const auto found = ranges_.find(file);
  if (found == ranges_.end()) return false;
  for (const auto& [begin, end] : found->second) {
    if (begin <= offset && offset <= end) return true;
  }
  return false;
}

bool Reached::covers(clang::SourceLocation where) const {
  return holds(sm_.getExpansionLoc(where)) || holds(sm_.getSpellingLoc(where)) ||
         holds(sm_.getFileLoc(where));
}

}  // namespace tilepost
