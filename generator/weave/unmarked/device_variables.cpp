#include "generator/weave/unmarked/device_variables.h"

#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "generator/clang/tree/reached.h"

namespace tilepost {

void check_device_variables(const Parsed& parsed, const clang::FunctionDecl* kernel) {
  const Reached reached(kernel, parsed.ast.getSourceManager());
  for (const clang::Decl* decl : reached.declarations()) {
    const auto* variable = clang::dyn_cast<clang::VarDecl>(decl);
    if (!variable || !variable->hasGlobalStorage() || !parsed.in_main(variable)) continue;
    const bool shared = variable->hasAttr<clang::CUDASharedAttr>();
    // A variable of class type has no initialiser if its constructor does nothing.
    const clang::Expr* init = variable->getInit();
    const auto* made = clang::dyn_cast_or_null<clang::CXXConstructExpr>(init);
    const bool unset = !init || (made && made->getConstructor()->isTrivial());
    if (shared || !unset || variable->isConstexpr()) continue;
    parsed.error(variable->getLocation(),
                 "nothing in generated code sets '" + variable->getName() +
                     "', which the kernel reads: give it an initialiser, or hand its value to the "
                     "kernel as a parameter");
  }
}

}  // namespace tilepost
