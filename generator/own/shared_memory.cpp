#include "generator/own/shared_memory.h"

#include <set>

#include "clang/AST/Attr.h"
#include "clang/AST/RecursiveASTVisitor.h"

namespace tilepost {
namespace {

// Finds a use of a variable `extern __shared__ …[]`, in a function or in what it calls.
class DynamicMemory : public clang::RecursiveASTVisitor<DynamicMemory> {
 public:
  explicit DynamicMemory(const clang::FunctionDecl* kernel) { follow(kernel); }

  const clang::DeclRefExpr* find() {
    while (!found_ && !functions_.empty()) {
      const clang::FunctionDecl* function = functions_.back();
      functions_.pop_back();
      TraverseStmt(function->getBody());
    }
    return found_;
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr* use) {
    if (const auto* variable = clang::dyn_cast<clang::VarDecl>(use->getDecl())) {
      const bool dynamic = variable->hasAttr<clang::CUDASharedAttr>() &&
                           variable->getType()->isIncompleteArrayType();
      if (dynamic && !found_) found_ = use;
    }
    follow(clang::dyn_cast<clang::FunctionDecl>(use->getDecl()));
    return !found_;
  }

  bool VisitMemberExpr(clang::MemberExpr* use) {
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
  const clang::DeclRefExpr* found_ = nullptr;
};

}  // namespace

void check_shared_memory(const Parsed& parsed, const Instance& instance, const OwnKernel& own) {
  if (own.shared_bytes > 0) return;
  const clang::DeclRefExpr* use = DynamicMemory(instance.function).find();
  const auto at = use ? parsed.expanded(use->getLocation()) : std::nullopt;
  if (!at) return;
  const std::string name = use->getDecl()->getNameAsString();
  parsed.report.say(Report::Kind::warning, parsed.text, *at, *at + name.size(),
                    "'" + name +
                        "' is dynamic shared memory, of which kernel.shared_bytes gives a block "
                        "none; say how many bytes you launch the kernel with");
}

}  // namespace tilepost
