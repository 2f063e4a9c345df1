#include "generator/clang/asked/candidates.h"

#include <vector>

#include "clang/AST/DeclTemplate.h"
#include "generator/clang/tokens.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

using clang::tok::TokenKind;
using llvm::StringRef;

// A name without the template arguments of its last part, and how many these are.
struct Name {
  std::vector<StringRef> path;
  unsigned arguments = 0;
};

// What is in brackets of any kind is one argument.
unsigned count_arguments(const Tokens& tokens, size_t open) {
  int depth = 0;
  unsigned count = 1;
  for (size_t i = open; i < tokens.all().size(); ++i) {
    const StringRef text = tokens.text(tokens.all()[i]);
    if (text == "<" || text == "(") ++depth;
    if (text == ">" || text == ")") --depth;
    if (text == ">>") depth -= 2;
    if (text == "," && depth == 1) ++count;
    if (text == ">" && depth == 0 && i == open + 1) count = 0;
  }
  return count;
}

// Nothing in `path` if a part before the last one has template arguments.
Name split(StringRef asked) {
  const Tokens tokens(asked);
  Name name;
  for (size_t i = 0; i < tokens.all().size(); ++i) {
    const Token& token = tokens.all()[i];
    if (token.kind == TokenKind::raw_identifier) name.path.push_back(tokens.text(token));
    if (token.kind != TokenKind::less) continue;
    name.arguments = count_arguments(tokens, i);
    if (!asked.rtrim().ends_with(">")) name.path.clear();
    break;
  }
  return name;
}

// What the name may mean. Names that come by using directives are not found.
std::vector<const clang::NamedDecl*> candidates(const clang::ASTContext& ast,
                                                llvm::ArrayRef<StringRef> path) {
  const clang::DeclContext* in = ast.getTranslationUnitDecl();
  std::vector<const clang::NamedDecl*> found;
  for (const StringRef part : path) {
    if (!in) return {};
    found.clear();
    for (const clang::NamedDecl* decl : in->lookup(&ast.Idents.get(part)))
      found.push_back(decl->getUnderlyingDecl());
    in = found.size() == 1 ? clang::dyn_cast<clang::NamespaceDecl>(found.front()) : nullptr;
  }
  return found;
}

std::string list_of(const clang::ASTContext& ast, const clang::TemplateParameterList& parameters) {
  std::string text = "<";
  llvm::raw_string_ostream out(text);
  clang::PrintingPolicy policy(ast.getLangOpts());
  for (const clang::NamedDecl* parameter : parameters) {
    if (text.size() > 1) out << ", ";
    parameter->print(out, policy);
  }
  out << ">";
  return text;
}

}  // namespace

std::string why_unclear(const clang::ASTContext& ast, StringRef asked) {
  const Name name = split(asked);
  const std::vector<const clang::NamedDecl*> found = candidates(ast, name.path);
  const auto* only =
      found.size() == 1 ? clang::dyn_cast<clang::FunctionTemplateDecl>(found.front()) : nullptr;
  if (!only)
    return "it means several functions; give one overload a name of its own, or name one "
           "instantiation of a template, with a value for each parameter that has no default";
  const clang::TemplateParameterList& parameters = *only->getTemplateParameters();
  const std::string what = "the template has the parameters " + list_of(ast, parameters) + ", and ";
  const bool too_many = name.arguments > parameters.size() && !parameters.hasParameterPack();
  if (too_many || name.arguments < parameters.getMinRequiredArguments())
    return what + std::to_string(name.arguments) +
           " are given; give one for each parameter that has no default";
  return what +
         "the arguments do not fit them; give a type for a type and a value for a value, as its "
         "declaration asks for";
}

}  // namespace tilepost
