#include "generator/infer/hidden_stores.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "llvm/ADT/SetVector.h"

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

class Reader : public clang::RecursiveASTVisitor<Reader> {
 public:
  llvm::SetVector<const clang::FunctionDecl*> reached;
  bool stores = false;

  bool shouldVisitImplicitCode() const { return true; }
  bool VisitGCCAsmStmt(clang::GCCAsmStmt* statement) {
    stores |= stores_in_bulk(statement->getAsmString()->getString());
    return !stores;
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

}  // namespace tilepost::inference
