#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "generator/clang/tree/visitor.h"
#include "generator/weave/passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;

// Collects variables, and where their values are read.
class VariablesAndReads final : public AstVisitor {
 public:
  explicit VariablesAndReads(const Parsed& parsed) : parsed_(parsed) {}

  std::vector<std::pair<const clang::VarDecl*, clang::SourceLocation>> variables;
  // For each variable the places in the main file where it is read.
  llvm::DenseMap<const clang::VarDecl*, std::vector<size_t>> reads;

  bool VisitDeclStmt(clang::DeclStmt* statement) override {
    for (const clang::Decl* decl : statement->decls()) add(decl, statement->getBeginLoc());
    return true;
  }
  void add(const clang::Decl* decl, clang::SourceLocation begin) {
    if (const auto* variable = dyn_cast<clang::VarDecl>(decl))
      variables.push_back({variable, begin});
  }

  bool VisitBinaryOperator(clang::BinaryOperator* operation) override {
    if (operation->isAssignmentOp()) written_.insert(operation->getLHS()->IgnoreParens());
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) override {
    if (operation->isIncrementDecrementOp()) {
      written_.insert(operation->getSubExpr()->IgnoreParens());
    }
    return true;
  }
  // The tree walk does not visit the attributes of statements, such as #pragma unroll kDepth.
  bool VisitAttributedStmt(clang::AttributedStmt* statement) override {
    for (const clang::Attr* attribute : statement->getAttrs()) {
      TraverseAttr(const_cast<clang::Attr*>(attribute));
    }
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override {
    const auto* variable = dyn_cast<clang::VarDecl>(name->getDecl());
    const auto offset = parsed_.expanded(name->getLocation());
    if (variable && offset && !written_.contains(name)) reads[variable].push_back(*offset);
    return true;
  }

 private:
  const Parsed& parsed_;
  llvm::DenseSet<const clang::Expr*> written_;
};

// Whether an unread variable may be marked as unused. Objects may exist for their constructor or
// destructor, and `extern` shared memory is declared only.
bool is_plain(const clang::VarDecl* variable) {
  return !variable->hasAttr<clang::UnusedAttr>() && !variable->getType()->isRecordType() &&
         !variable->getType()->isReferenceType() && !variable->hasExternalStorage() &&
         !variable->isInline() && !isa<clang::DecompositionDecl>(variable);
}

// The range of the kernel, if a guard may leave out its body.
Range guarded(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces) {
  if (request.arch_guard.empty()) return {0, 0};
  for (const clang::FunctionDecl* kernel : find_kernels(parsed, request.function)) {
    const auto offset = parsed.expanded(kernel->getLocation());
    const int at = offset && kernel->doesThisDeclarationHaveABody() ? pieces.at(*offset) : -1;
    if (at >= 0) return pieces.all[static_cast<size_t>(at)].code;
  }
  return {0, 0};
}

}  // namespace

void quiet_unused(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                  Edits& edits) {
  VariablesAndReads visitor(parsed);
  for (const Piece& piece : pieces.all) {
    if (!piece.keep || piece.kind != Piece::Kind::declaration) continue;
    for (const clang::Decl* decl : piece.declarations) {
      visitor.add(decl, decl->getBeginLoc());
      visitor.TraverseDecl(const_cast<clang::Decl*>(decl));
    }
  }
  const Range guarded_body = guarded(parsed, request, pieces);
  for (const auto& [variable, begin] : visitor.variables) {
    const auto offset = begin.isMacroID() ? std::nullopt : parsed.spelled(begin);
    if (!offset || !is_plain(variable) || !pieces.kept(*offset)) continue;
    const std::vector<size_t>& reads = visitor.reads[variable];
    bool used = !reads.empty();
    // A kept variable outside of functions is used somewhere, perhaps only in the guarded body.
    if (!variable->isLocalVarDecl()) {
      used = llvm::is_contained(request.keep, variable->getName()) || reads.empty() ||
             !llvm::all_of(reads, [&](size_t read) { return guarded_body.contains(read); });
    }
    if (!used) edits.insert(*offset, "[[maybe_unused]] ");
  }
}

}  // namespace tilepost
