#include "generator/infer/source/origins.h"

#include "llvm/ADT/STLExtras.h"

namespace tilepost::inference {

using clang::dyn_cast;
using llvm::StringRef;

bool Origins::is_foreign(const clang::FunctionDecl* function) const {
  return function->getBuiltinID() != 0 || function->isImplicit() ||
         is_foreign(function->getLocation());
}

bool Origins::is_foreign(Where declared) const {
  const Where where = parsed_.sm.getExpansionLoc(declared);
  if (parsed_.sm.isInMainFile(where)) return false;
  const StringRef file = parsed_.sm.getFilename(where);
  for (const std::string& library : libraries_)
    if (file.starts_with(library)) return false;
  if (parsed_.sm.isInSystemHeader(where)) return true;
  return file.starts_with("/prelude/") || file.starts_with(kStubFolder) ||
         file.starts_with(kAddedFolder);
}

// Whether the type, or a template argument of it, is a class or an enumeration of the user's.
bool Origins::has_user_type(Type type, int depth) const {
  while (type->isPointerType() || type->isReferenceType()) type = type->getPointeeType();
  const clang::TagDecl* tag = parsed_.ast.getBaseElementType(type)->getAsTagDecl();
  if (!tag) return false;
  if (!is_foreign(tag->getLocation())) return true;
  const auto* made = dyn_cast<clang::ClassTemplateSpecializationDecl>(tag);
  constexpr int kMaxDepth = 8;
  return made && (depth > kMaxDepth || has_user_type(made->getTemplateArgs().asArray(), depth + 1));
}

bool Origins::has_user_type(llvm::ArrayRef<clang::TemplateArgument> arguments, int depth) const {
  return llvm::any_of(arguments, [&](const clang::TemplateArgument& argument) {
    if (argument.getKind() == clang::TemplateArgument::Pack)
      return has_user_type(argument.pack_elements(), depth);
    return argument.getKind() == clang::TemplateArgument::Type &&
           has_user_type(argument.getAsType(), depth);
  });
}

bool Origins::acts_for_user(const clang::FunctionDecl* function) const {
  if (function->isImplicit()) return true;
  if (function->getBuiltinID() != 0) return false;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  const clang::TemplateArgumentList* given = function->getTemplateSpecializationArgs();
  return (given && has_user_type(given->asArray())) ||
         (method && has_user_type(parsed_.ast.getRecordType(method->getParent()))) ||
         llvm::any_of(function->parameters(), [&](const clang::ParmVarDecl* parameter) {
           return has_user_type(parameter->getType());
         });
}

const clang::FunctionDecl* Origins::called_back(const clang::FunctionDecl* function) {
  return hidden_stores_.called_back_by(
      function, [&](const clang::FunctionDecl* one) { return is_foreign(one); });
}

}  // namespace tilepost::inference
