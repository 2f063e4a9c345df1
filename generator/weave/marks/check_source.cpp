#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "generator/clang/tree/visitor.h"
#include "generator/weave/passes.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

// All named functions of the main file.
class FunctionsOfFile final : public AstVisitor {
 public:
  explicit FunctionsOfFile(const Parsed& parsed) : parsed_(parsed) {}

  std::vector<const clang::FunctionDecl*> functions;

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (function->getIdentifier() && parsed_.in_main(function)) functions.push_back(function);
    return true;
  }

 private:
  const Parsed& parsed_;
};

// Reports why the kernel of that name was not found.
void explain_missing(const Parsed& parsed, const WeaveRequest& request,
                     const std::vector<const clang::FunctionDecl*>& functions) {
  std::vector<StringRef> names;
  for (const clang::FunctionDecl* function : functions) {
    if (!isa<clang::CXXMethodDecl>(function)) names.push_back(function->getName());
    if (function->getName() != request.function) continue;
    const clang::DeclContext* context = function->getDeclContext();
    std::string place = "a function";
    if (const auto* record = dyn_cast<clang::RecordDecl>(context)) {
      place = ("class '" + record->getName() + "'").str();
    } else if (const auto* space = dyn_cast<clang::NamespaceDecl>(context)) {
      place = space->isAnonymousNamespace() ? "an anonymous namespace"
                                            : ("namespace '" + space->getName() + "'").str();
    }
    parsed.error(function->getLocation(), "kernel '" + request.function + "' is inside " + place +
                                              "; move it to the file's outermost level, the "
                                              "generated code has a namespace of its own");
    return;
  }
  parsed.report.error("there is no function '" + request.function + "'" +
                      did_you_mean(request.function, names));
}

void check_kernel(const Parsed& parsed, const WeaveRequest& request,
                  const std::vector<const clang::FunctionDecl*>& kernels) {
  const clang::FunctionDecl* first = kernels.front();
  for (const clang::FunctionDecl* kernel : kernels) {
    if (kernel->getCanonicalDecl() == first->getCanonicalDecl()) continue;
    parsed.error(kernel->getLocation(), "function '" + request.function +
                                            "' is overloaded; give the kernel a name of its own");
    parsed.note(first->getLocation(), "the other one is here");
    return;
  }
  const clang::FunctionDecl* definition = nullptr;
  if (!first->isDefined(definition)) {
    parsed.error(first->getLocation(), "kernel '" + request.function +
                                           "' is declared here, but not defined in this file");
    return;
  }
  if (request.cuda && !definition->hasAttr<clang::CUDAGlobalAttr>()) {
    parsed.error(definition->getLocation(),
                 "function '" + request.function + "' is not a kernel; declare it __global__");
    return;
  }
  for (const clang::FunctionDecl* kernel : kernels) check_parameters(parsed, kernel);
}

}  // namespace

std::vector<const clang::FunctionDecl*> find_kernels(const Parsed& parsed, StringRef name) {
  std::vector<const clang::FunctionDecl*> kernels;
  const clang::DeclarationName wanted(&parsed.ast.Idents.get(name));
  for (const clang::NamedDecl* decl : parsed.ast.getTranslationUnitDecl()->lookup(wanted)) {
    const auto* function = dyn_cast<clang::FunctionDecl>(decl);
    if (const auto* pattern = dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      function = pattern->getTemplatedDecl();
    }
    if (!function || !parsed.in_main(function)) continue;
    for (const clang::FunctionDecl* one : function->redecls()) kernels.push_back(one);
  }
  return kernels;
}

void check_parameters(const Parsed& parsed, const clang::FunctionDecl* kernel) {
  if (kernel->isVariadic()) {
    parsed.error(kernel->getLocation(), "variadic function '" + kernel->getName() +
                                            "' cannot take the view as its last "
                                            "parameter; name its parameters");
    return;
  }
  if (kernel->param_empty()) return;
  const clang::ParmVarDecl* last = kernel->parameters().back();
  if (last->hasDefaultArg()) {
    parsed.error(last->getLocation(), "parameter '" + last->getName() +
                                          "' has a default argument, "
                                          "but the view comes after it; remove the default");
  } else if (last->isParameterPack()) {
    parsed.error(last->getLocation(), "parameter pack '" + last->getName() +
                                          "' must be the last parameter, but the view comes after "
                                          "it; name the kernel's parameters");
  }
}

void check_source(const Parsed& parsed, const WeaveRequest& request) {
  FunctionsOfFile visitor(parsed);
  for (clang::Decl* decl : parsed.ast.getTranslationUnitDecl()->decls()) {
    if (parsed.expanded(decl->getBeginLoc())) visitor.TraverseDecl(decl);
  }
  std::vector<const clang::FunctionDecl*> kernels = find_kernels(parsed, request.function);
  if (kernels.empty()) {
    explain_missing(parsed, request, visitor.functions);
  } else {
    check_kernel(parsed, request, kernels);
  }
}

}  // namespace tilepost
