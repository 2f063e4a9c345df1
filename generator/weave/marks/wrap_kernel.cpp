#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Stmt.h"
#include "generator/weave/passes.h"

namespace tilepost {
namespace {

using clang::dyn_cast;

void add_guard(const Parsed& parsed, const WeaveRequest& request, Edits& edits) {
  const std::vector<const clang::FunctionDecl*> kernels = find_kernels(parsed, request.function);
  const clang::FunctionDecl* definition = nullptr;
  if (kernels.empty() || !kernels.front()->isDefined(definition)) return;
  const auto* body = dyn_cast<clang::CompoundStmt>(definition->getBody());
  const auto open = body ? parsed.spelled(body->getLBracLoc()) : std::nullopt;
  const auto close = body ? parsed.spelled(body->getRBracLoc()) : std::nullopt;
  if (!open || !close || body->getLBracLoc().isMacroID() || body->getRBracLoc().isMacroID()) {
    parsed.error(definition->getLocation(), "the body of kernel '" + request.function +
                                                "' comes from a macro and cannot be guarded; write "
                                                "its braces out");
    return;
  }
  const llvm::StringRef source = parsed.text.text;
  const bool line_ends = source.drop_front(*open + 1).ltrim(" \t").starts_with("\n");
  edits.insert(*open + 1, "\n#if " + request.arch_guard + (line_ends ? "" : "\n"));
  const bool line_starts = source.take_front(*close).rtrim(" \t").ends_with("\n");
  edits.insert(*close, line_starts ? "#endif\n" : "\n#endif\n");
}

// Whether a kept part of the extern "C" block defines a function.
bool defines_function(const Parsed& parsed, const Pieces& pieces,
                      const clang::LinkageSpecDecl* linkage) {
  return std::any_of(linkage->decls_begin(), linkage->decls_end(), [&](const clang::Decl* inner) {
    const auto* function = dyn_cast<clang::FunctionDecl>(inner);
    const auto offset = function ? parsed.expanded(function->getLocation()) : std::nullopt;
    return offset && function->isDefined() && pieces.kept(*offset);
  });
}

void use_cpp_names(const Parsed& parsed, const Pieces& pieces, Edits& edits) {
  for (const clang::Decl* decl : parsed.ast.getTranslationUnitDecl()->decls()) {
    const auto* linkage = dyn_cast<clang::LinkageSpecDecl>(decl);
    if (!linkage || linkage->getLanguage() != clang::LinkageSpecLanguageIDs::C) continue;
    if (!defines_function(parsed, pieces, linkage)) continue;
    const auto keyword = parsed.spelled(linkage->getExternLoc());
    const Token* language = keyword ? parsed.tokens.next(parsed.tokens.at(*keyword)) : nullptr;
    if (language && parsed.tokens.text(*language) == "\"C\"") {
      edits.replace(language->begin, language->end, "\"C++\"");
    } else {
      parsed.error(linkage->getLocation(),
                   "a macro gives this function a C name, which two "
                   "generated kernels would share; write extern \"C++\"");
    }
  }
}

}  // namespace

void wrap_kernel(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                 Edits& edits) {
  if (!request.arch_guard.empty()) add_guard(parsed, request, edits);
  use_cpp_names(parsed, pieces, edits);
}

}  // namespace tilepost
