#include "generator/weave/unmarked/dynamic_shared.h"

#include <map>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "generator/clang/tree/reached.h"

namespace tilepost {
namespace {

using clang::dyn_cast;

// "::lib::detail" for a declaration in that namespace, "" for one in none.
std::string space_of(const clang::Decl* decl) {
  const auto* space =
      dyn_cast<clang::NamespaceDecl>(decl->getDeclContext()->getEnclosingNamespaceContext());
  return space ? "::" + space->getQualifiedNameAsString() : "";
}

}  // namespace

std::string define_dynamic_shared(const Parsed& parsed, const clang::FunctionDecl* kernel,
                                  int bytes) {
  std::map<std::pair<std::string, std::string>, std::string> arrays;  // by namespace and name
  const Reached reached(kernel, parsed.ast.getSourceManager());
  for (const clang::Decl* decl : reached.declarations()) {
    const auto* variable = dyn_cast<clang::VarDecl>(decl);
    if (!variable || !variable->hasAttr<clang::CUDASharedAttr>() || !variable->hasExternalStorage())
      continue;
    const clang::Type* element = variable->getType()->getArrayElementTypeNoTypeQual();
    if (!element) continue;
    arrays[{space_of(variable), variable->getName().str()}] =
        clang::QualType(element, 0).getAsString(parsed.ast.getPrintingPolicy());
  }
  std::string text;
  for (const auto& [name, type] : arrays)
    text += "namespace user" + name.first + " {\n__attribute__((aligned(1024))) thread_local " +
            type + " " + name.second + "[" + std::to_string(bytes) + " / sizeof(" + type +
            ") + 1];\n}\n\n";
  if (arrays.size() > 1) text += "#error \"dynamic shared memory has several names\"\n\n";
  return text;
}

}  // namespace tilepost
