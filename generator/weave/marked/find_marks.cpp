#include "generator/weave/marked/find_marks.h"

#include "clang/AST/DeclTemplate.h"
#include "generator/weave/marks/hand_down.h"
#include "generator/weave/passes.h"
#include "llvm/ADT/SmallVector.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using llvm::StringRef;

constexpr char kWanted[] = "cudaError_t launch(const tilepost_launch_call_t* call, void* user)";

bool is_launcher(const clang::FunctionDecl* function) {
  if (function->getNumParams() != 2 || function->isVariadic()) return false;
  const clang::QualType call = function->getParamDecl(0)->getType()->getPointeeType();
  const clang::QualType user = function->getParamDecl(1)->getType()->getPointeeType();
  if (call.isNull() || user.isNull() || !call.isConstQualified()) return false;
  const clang::RecordDecl* record = call->getAsRecordDecl();
  return record && record->getName() == "tilepost_launch_call" && user->isVoidType() &&
         !user.isConstQualified() &&
         (function->getReturnType()->isEnumeralType() ||
          function->getReturnType()->isIntegerType());
}

}  // namespace

std::set<Mark> find_marks(const Parsed& parsed, const Instance& instance) {
  Pieces pieces = cut_into_pieces(parsed);
  mark_reachable(parsed, {instance.written}, pieces);
  std::set<Mark> marks;
  for (const Reference& reference : kept_references(parsed, pieces))
    if (reference.mark != Mark::none) marks.insert(reference.mark);
  return marks;
}

const clang::FunctionDecl* find_launcher(const Parsed& parsed, StringRef name) {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, "::");
  const clang::DeclContext* space = parsed.ast.getTranslationUnitDecl();
  const clang::FunctionDecl* function = nullptr;
  for (size_t i = 0; i < parts.size() && space; ++i) {
    const clang::DeclarationName wanted(&parsed.ast.Idents.get(parts[i]));
    const clang::DeclContext* next = nullptr;
    for (const clang::NamedDecl* decl : space->lookup(wanted)) {
      if (const auto* inner = dyn_cast<clang::NamespaceDecl>(decl)) next = inner;
      const auto* found = dyn_cast<clang::FunctionDecl>(decl);
      if (i + 1 == parts.size() && found && parsed.in_main(found)) function = found;
    }
    space = next;
  }
  if (!function) {
    parsed.report.error("kernel.launcher: there is no function '" + name.str() +
                        "' in the kernel's source; write its namespaces out, as in " + kWanted);
    return nullptr;
  }
  if (!is_launcher(function)) {
    parsed.error(function->getLocation(),
                 "'" + name + "' cannot launch a kernel: it is to be " + kWanted);
    return nullptr;
  }
  return function;
}

bool mark_launched(const Parsed& parsed, const Instance& instance, StringRef launcher,
                   Pieces& pieces) {
  std::vector<const clang::FunctionDecl*> roots = {instance.written};
  if (!launcher.empty()) {
    const clang::FunctionDecl* function = find_launcher(parsed, launcher);
    if (!function) return false;
    roots.insert(roots.end(), function->redecls_begin(), function->redecls_end());
  }
  mark_reachable(parsed, roots, pieces);
  return true;
}

}  // namespace tilepost
