#include "generator/infer/source/hidden_stores.h"

#include "clang/AST/ExprCXX.h"
#include "generator/clang/tree/visitor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost::inference {
namespace {

using clang::dyn_cast;
using llvm::StringRef;

// The name of the first bulk store in the assembly: cp.async.bulk…global.shared… or
// cp.reduce.async.bulk…. Empty if there is none.
StringRef bulk_store_of(StringRef assembly) {
  for (size_t at = 0; (at = assembly.find("cp.", at)) != StringRef::npos; ++at) {
    const StringRef name =
        assembly.drop_front(at).take_until([](char c) { return c == ' ' || c == '['; });
    if (name.starts_with("cp.reduce")) return name;
    if (name.starts_with("cp.async.bulk") && name.contains("global.shared")) return name;
  }
  return "";
}

// The name of the first atomic instruction on global memory in the assembly, such as
// "red.relaxed.gpu.global.add.s32". Empty if there is none.
StringRef atomic_of(StringRef assembly) {
  llvm::SmallVector<StringRef> parts;
  assembly.split(parts, ';');
  for (StringRef part : parts) {
    part = part.ltrim(" \t\n\r{}");
    if (part.consume_front("@")) part = part.drop_until(llvm::isSpace).ltrim();
    const StringRef name = part.take_until([](char c) { return llvm::isSpace(c) || c == '['; });
    const bool adds = name.starts_with("red.") || name.starts_with("atom.");
    if (adds && !name.contains(".shared") && !name.contains("::cta")) return name;
  }
  return "";
}

class Reader final : public AstVisitor {
 public:
  llvm::SetVector<const clang::FunctionDecl*> reached;
  bool stores = false;
  std::optional<SharedWork> shared;
  std::optional<ByMap> by_map;

  bool shouldVisitImplicitCode() const override { return true; }
  bool VisitGCCAsmStmt(clang::GCCAsmStmt* statement) override {
    const StringRef text = statement->getAsmString()->getString();
    if (const StringRef name = bulk_store_of(text); !name.empty()) {
      stores = true;
      if (!by_map) by_map = {statement->getAsmLoc(), name.str()};
    }
    if (text.contains("tensormap.replace") && (!by_map || !by_map->changes))
      by_map = {statement->getAsmLoc(), "tensormap.replace", true};
    if (const StringRef name = atomic_of(text); !shared && !name.empty())
      shared = {statement->getAsmLoc(), name.str()};
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    const clang::FunctionDecl* function = call->getDirectCallee();
    if (!shared && function && function->getIdentifier() &&
        function->getName().starts_with("atomic"))
      shared = {call->getExprLoc(), function->getNameAsString()};
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override { return reach(name->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* member) override {
    return reach(member->getMemberDecl());
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) override {
    return reach(made->getConstructor());
  }

 private:
  bool reach(const clang::ValueDecl* decl) {
    const auto* function = dyn_cast<clang::FunctionDecl>(decl);
    const clang::FunctionDecl* definition = nullptr;
    if (function && function->isDefined(definition)) reached.insert(definition);
    return true;
  }
};

// Whether the place is inside a local variable of the function or inside *this. A place that is
// reached through another pointer or a reference is not.
bool is_own(const clang::Expr* place) {
  for (;;) {
    place = place->IgnoreParenImpCasts();
    if (const auto* member = dyn_cast<clang::MemberExpr>(place)) {
      if (member->getMemberDecl()->getType()->isReferenceType()) return false;
      const bool through_this = member->isArrow() && clang::isa<clang::CXXThisExpr>(
                                                         member->getBase()->IgnoreParenImpCasts());
      if (member->isArrow() && !through_this) return false;
      place = member->getBase();
    } else if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(place)) {
      place = element->getBase()->IgnoreParenImpCasts();
      if (!place->getType()->isArrayType()) return false;
    } else if (clang::isa<clang::CXXThisExpr>(place)) {
      return true;
    } else {
      const auto* name = dyn_cast<clang::DeclRefExpr>(place);
      const auto* variable = name ? dyn_cast<clang::VarDecl>(name->getDecl()) : nullptr;
      return variable && variable->hasLocalStorage() &&
             !name->refersToEnclosingVariableOrCapture() && !variable->getType()->isReferenceType();
    }
  }
}

// Finds out whether a function does more than compute with its arguments. Calls of the user's
// functions do not count, because each of these functions is checked by itself.
class Actions final : public AstVisitor {
 public:
  using IsForeign = llvm::function_ref<bool(const clang::FunctionDecl*)>;
  static bool are_in(const clang::FunctionDecl* function, IsForeign is_foreign) {
    Actions actions(is_foreign);
    actions.TraverseStmt(function->getBody());
    return actions.found_;
  }

  bool shouldVisitImplicitCode() const override { return true; }
  bool VisitBinaryOperator(clang::BinaryOperator* e) override {
    return note(e->isAssignmentOp() && !is_own(e->getLHS()));
  }
  bool VisitUnaryOperator(clang::UnaryOperator* e) override {
    return note(e->isIncrementDecrementOp() && !is_own(e->getSubExpr()));
  }
  bool VisitAsmStmt(clang::AsmStmt*) override { return note(true); }
  bool VisitCXXNewExpr(clang::CXXNewExpr*) override { return note(true); }
  bool VisitCXXDeleteExpr(clang::CXXDeleteExpr*) override { return note(true); }
  bool VisitCallExpr(clang::CallExpr* e) override {
    const clang::FunctionDecl* function = e->getDirectCallee();
    if (!function) return note(true);
    if (!is_foreign_(function)) return true;
    // A header's function may wait for threads, or store through a pointer or reference argument.
    bool acts = function->getReturnType()->isVoidType() ||
                function->getNameAsString().find("sync") != std::string::npos;
    const auto* member = dyn_cast<clang::CXXMemberCallExpr>(e);
    const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
    const bool on_first = !member && method && !method->isStatic();
    if (method && !method->isStatic() && !method->isConst())
      acts |= !is_own(member ? member->getImplicitObjectArgument() : e->getArg(0));
    for (unsigned i = on_first ? 1 : 0; i < e->getNumArgs(); ++i) {
      const unsigned at = i - (on_first ? 1 : 0);
      if (at >= function->getNumParams()) break;
      const clang::QualType type = function->getParamDecl(at)->getType();
      const bool leads = type->isPointerType() || type->isLValueReferenceType();
      if (leads && !type->getPointeeType().isConstQualified()) acts |= !is_own(e->getArg(i));
    }
    return note(acts);
  }

 private:
  explicit Actions(IsForeign is_foreign) : is_foreign_(is_foreign) {}
  bool note(bool acts) {
    found_ |= acts;
    return !found_;
  }

  IsForeign is_foreign_;
  bool found_ = false;
};

}  // namespace

bool HiddenStores::are_in(const clang::FunctionDecl* function) {
  const clang::FunctionDecl* definition = nullptr;
  if (!function->isDefined(definition)) return false;
  const auto [known, is_new] = known_.try_emplace(definition, false);
  if (!is_new) return known->second;
  Reader reader;
  reader.reached.insert(definition);
  for (size_t at = 0; at < reader.reached.size() && !reader.stores; ++at)
    reader.TraverseStmt(reader.reached[at]->getBody());
  return known_[definition] = reader.stores;
}

const clang::FunctionDecl* HiddenStores::called_back_by(
    const clang::FunctionDecl* function,
    llvm::function_ref<bool(const clang::FunctionDecl*)> is_foreign) {
  const clang::FunctionDecl* definition = nullptr;
  if (!function->isDefined(definition)) return nullptr;
  const auto [known, is_new] = called_back_.try_emplace(definition, nullptr);
  if (!is_new) return known->second;
  Reader reader;
  reader.reached.insert(definition);
  for (size_t at = 0; at < reader.reached.size(); ++at) {
    const clang::FunctionDecl* reached = reader.reached[at];
    reader.TraverseStmt(reached->getBody());
    if (is_foreign(reached) || !Actions::are_in(reached, is_foreign)) continue;
    return called_back_[definition] = reached;
  }
  return nullptr;
}

std::optional<SharedWork> find_shared_work(const clang::FunctionDecl* kernel) {
  Reader reader;
  reader.reached.insert(kernel);
  for (size_t at = 0; at < reader.reached.size() && !reader.shared; ++at)
    reader.TraverseStmt(reader.reached[at]->getBody());
  return reader.shared;
}

std::optional<ByMap> find_by_map(const clang::FunctionDecl* kernel) {
  Reader reader;
  reader.reached.insert(kernel);
  const auto changes = [&] { return reader.by_map && reader.by_map->changes; };
  for (size_t at = 0; at < reader.reached.size() && !changes(); ++at)
    reader.TraverseStmt(reader.reached[at]->getBody());
  return reader.by_map;
}

}  // namespace tilepost::inference
