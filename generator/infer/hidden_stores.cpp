#include "generator/infer/hidden_stores.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost::inference {
namespace {

using clang::dyn_cast;
using llvm::StringRef;

// cp.async.bulk…global.shared…, cp.reduce.async.bulk….
bool stores_in_bulk(StringRef assembly) {
  for (size_t at = 0; (at = assembly.find("cp.", at)) != StringRef::npos; ++at) {
    const StringRef name =
        assembly.drop_front(at).take_until([](char c) { return c == ' ' || c == '['; });
    if (name.starts_with("cp.reduce")) return true;
    if (name.starts_with("cp.async.bulk") && name.contains("global.shared")) return true;
  }
  return false;
}

// "red.relaxed.gpu.global.add.s32" of an instruction on memory of the grid, or "".
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

class Reader : public clang::RecursiveASTVisitor<Reader> {
 public:
  llvm::SetVector<const clang::FunctionDecl*> reached;
  bool stores = false;
  std::optional<SharedWork> shared;

  bool shouldVisitImplicitCode() const { return true; }
  bool VisitGCCAsmStmt(clang::GCCAsmStmt* statement) {
    const StringRef text = statement->getAsmString()->getString();
    stores |= stores_in_bulk(text);
    if (const StringRef name = atomic_of(text); !shared && !name.empty())
      shared = {statement->getAsmLoc(), name.str()};
    return !stores;
  }
  bool VisitCallExpr(clang::CallExpr* call) {
    const clang::FunctionDecl* function = call->getDirectCallee();
    if (!shared && function && function->getIdentifier() &&
        function->getName().starts_with("atomic"))
      shared = {call->getExprLoc(), function->getNameAsString()};
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) { return reach(name->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* member) { return reach(member->getMemberDecl()); }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) {
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

std::optional<SharedWork> find_shared_work(const clang::FunctionDecl* kernel) {
  Reader reader;
  reader.reached.insert(kernel);
  for (size_t at = 0; at < reader.reached.size() && !reader.shared; ++at)
    reader.TraverseStmt(reader.reached[at]->getBody());
  return reader.shared;
}

}  // namespace tilepost::inference
