#include "clang/AST/Decl.h"
#include "generator/weave/pieces/pieces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

void join(const Parsed& parsed, llvm::ArrayRef<const clang::DeclContext*> contexts,
          const std::string& path, llvm::raw_ostream& out) {
  llvm::MapVector<const clang::NamespaceDecl*, std::vector<const clang::DeclContext*>> opened;
  for (const clang::DeclContext* context : contexts)
    for (const clang::Decl* decl : context->decls())
      if (const auto* space = clang::dyn_cast<clang::NamespaceDecl>(decl);
          space && !space->isAnonymousNamespace() && parsed.in_main(space))
        opened[space->getCanonicalDecl()].push_back(space);
  for (const auto& [space, here] : opened) {
    if (llvm::all_of(space->redecls(), [&](const auto* each) { return parsed.in_main(each); }))
      continue;
    const std::string name = path + "::" + space->getNameAsString();
    out << "namespace " << space->getName() << " {\nusing namespace " << name << ";\n";
    join(parsed, here, name, out);
    out << "}  // namespace " << space->getName() << "\n\n";
  }
}

}  // namespace

std::string joined_namespaces(const Parsed& parsed) {
  std::string text;
  llvm::raw_string_ostream out(text);
  join(parsed, {parsed.ast.getTranslationUnitDecl()}, "", out);
  return text;
}

}  // namespace tilepost
