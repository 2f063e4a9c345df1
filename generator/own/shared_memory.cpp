#include "generator/own/shared_memory.h"

#include <set>

#include "clang/AST/Attr.h"
#include "generator/clang/tree/visitor.h"

namespace tilepost {
namespace {

// Finds the uses of `__shared__` variables, in a function or in what it calls.
class SharedMemory final : public AstVisitor {
 public:
  explicit SharedMemory(const clang::FunctionDecl* kernel) {
    follow(kernel);
    while (!functions_.empty()) {
      const clang::FunctionDecl* function = functions_.back();
      functions_.pop_back();
      TraverseStmt(function->getBody());
    }
  }

  const clang::DeclRefExpr* dynamic = nullptr;  // the first use of an `extern __shared__ …[]`
  std::set<const clang::VarDecl*> variables;    // the others

  bool VisitDeclRefExpr(clang::DeclRefExpr* use) override {
    const auto* variable = clang::dyn_cast<clang::VarDecl>(use->getDecl());
    if (variable && variable->hasAttr<clang::CUDASharedAttr>()) {
      if (!variable->getType()->isIncompleteArrayType())
        variables.insert(variable->getCanonicalDecl());
      else if (!dynamic)
        dynamic = use;
    }
    follow(clang::dyn_cast<clang::FunctionDecl>(use->getDecl()));
    return true;
  }

  bool VisitMemberExpr(clang::MemberExpr* use) override {
    follow(clang::dyn_cast<clang::FunctionDecl>(use->getMemberDecl()));
    return true;
  }

 private:
  void follow(const clang::FunctionDecl* function) {
    const clang::FunctionDecl* definition = nullptr;
    if (function && function->isDefined(definition) && definition->getBody() &&
        seen_.insert(definition).second)
      functions_.push_back(definition);
  }

  std::vector<const clang::FunctionDecl*> functions_;  // yet to be looked at
  std::set<const clang::FunctionDecl*> seen_;
};

}  // namespace

int64_t static_shared_bytes(const Parsed& parsed, const Instance& instance) {
  int64_t bytes = 0;
  for (const clang::VarDecl* variable : SharedMemory(instance.function).variables) {
    const clang::QualType type = variable->getType();
    if (!type->isDependentType() && !type->isIncompleteType())
      bytes += parsed.ast.getTypeSizeInChars(type).getQuantity();
  }
  return bytes;
}

void check_shared_memory(const Parsed& parsed, const Instance& instance, const OwnKernel& own) {
  if (own.shared_bytes > 0) return;
  const clang::DeclRefExpr* use = SharedMemory(instance.function).dynamic;
  const auto at = use ? parsed.expanded(use->getLocation()) : std::nullopt;
  if (!at) return;
  const std::string name = use->getDecl()->getNameAsString();
  parsed.report.say(Report::Kind::warning, parsed.text, *at, *at + name.size(),
                    "'" + name +
                        "' is dynamic shared memory, of which kernel.shared_bytes gives a block "
                        "none; say how many bytes you launch the kernel with");
}

}  // namespace tilepost
