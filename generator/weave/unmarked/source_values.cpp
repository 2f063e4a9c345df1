#include "generator/weave/unmarked/source_values.h"

#include "clang/AST/Expr.h"
#include "generator/clang/tree/reached.h"
#include "generator/clang/tree/visitor.h"

namespace tilepost {
namespace {

class SourceValues final : public AstVisitor {
 public:
  explicit SourceValues(const Parsed& parsed) : parsed_(parsed) {}

  clang::SourceLocation where;  // the place of the first value that was found
  std::string name;

  // Finds default arguments in the calls that use them.
  bool shouldVisitImplicitCode() const override { return true; }
  bool VisitSourceLocExpr(clang::SourceLocExpr* place) override {
    return found(place->getLocation(), place->getBuiltinStr());
  }
  // The size of long double depends on the host compiler that nvcc uses.
  bool VisitUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr* asks) override {
    const clang::QualType type = asks->getTypeOfArgument();
    const bool same =
        asks->isTypeDependent() || !type->isSpecificBuiltinType(clang::BuiltinType::LongDouble);
    return same || found(asks->getOperatorLoc(), "sizeof(long double)");
  }
  // An assert may use __PRETTY_FUNCTION__, because it only prints the name.
  bool VisitPredefinedExpr(clang::PredefinedExpr* text) override {
    const auto kind = text->getIdentKind();
    const bool same = kind == clang::PredefinedIdentKind::Func ||
                      kind == clang::PredefinedIdentKind::Function ||
                      !parsed_.spelled(text->getLocation());
    return same || found(text->getLocation(), text->getIdentKindName());
  }

 private:
  bool found(clang::SourceLocation at, llvm::StringRef what) {
    where = at;
    name = what.str();
    return false;
  }

  const Parsed& parsed_;
};

}  // namespace

void check_source_values(const Parsed& parsed, const clang::FunctionDecl* kernel) {
  const Reached reached(kernel, parsed.ast.getSourceManager());
  for (const clang::Decl* decl : reached.declarations()) {
    SourceValues visitor(parsed);
    if (parsed.in_main(decl)) visitor.TraverseDecl(const_cast<clang::Decl*>(decl));
    if (visitor.name.empty()) continue;
    const std::string name = "'" + visitor.name + "'";
    parsed.error(visitor.where, "the kernel has the value of " + name +
                                    " in it, which may be another when generated code is compiled; "
                                    "write the value out");
    return;
  }
}

}  // namespace tilepost
