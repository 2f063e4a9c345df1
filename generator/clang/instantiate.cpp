#include "generator/clang/instantiate.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Expr.h"
#include "generator/clang/guard/faults.h"
#include "generator/clang/limits.h"
#include "generator/clang/tree/visitor.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using llvm::StringRef;

// Finds a type that code elsewhere cannot spell: that of a lambda, or of a class without a name.
class UnnamedTypes final : public AstVisitor {
 public:
  bool found = false;
  bool VisitTagType(clang::TagType* type) override {
    const clang::TagDecl* decl = type->getDecl();
    found |= (!decl->getIdentifier() && !decl->getTypedefNameForAnonDecl()) ||
             decl->getParentFunctionOrMethod();
    if (const auto* special = dyn_cast<clang::ClassTemplateSpecializationDecl>(decl)) {
      for (const clang::TemplateArgument& argument : special->getTemplateArgs().asArray()) {
        TraverseTemplateArgument(argument);
      }
    }
    return true;
  }
};

clang::PrintingPolicy plain_names(const Parsed& parsed) {
  clang::PrintingPolicy policy(parsed.ast.getLangOpts());
  policy.PrintCanonicalTypes = true;
  policy.FullyQualifiedName = true;
  policy.SuppressUnwrittenScope = true;
  policy.SuppressTagKeyword = true;
  policy.Bool = true;
  policy.SuppressDefaultTemplateArgs = false;
  return policy;
}

// Whether one of the tokens that declare the parameter is __grid_constant__. The attribute does not
// reach the tree.
bool is_grid_constant(const Parsed& parsed, const clang::ParmVarDecl* parameter) {
  const auto begin = parsed.expanded(parameter->getBeginLoc());
  const auto end = parsed.expanded(parameter->getLocation());
  const Token* const open = begin ? parsed.tokens.at(*begin) : nullptr;
  if (!open || !end) return false;
  const auto is_it = [&](const Token* token) {
    return parsed.tokens.text(*token) == "__grid_constant__";
  };
  for (const Token* token = open; token && token->begin < *end; token = parsed.tokens.next(token)) {
    if (is_it(token)) return true;
  }
  // If it stands in front of the type, the declaration's range may not include it.
  for (const Token* token = parsed.tokens.previous(open); token;
       token = parsed.tokens.previous(token)) {
    if (token->kind != clang::tok::raw_identifier) return false;
    if (is_it(token)) return true;
  }
  return false;
}

std::optional<Parameter> describe(const Parsed& parsed, const clang::ParmVarDecl* parameter,
                                  size_t index) {
  const clang::QualType type = parameter->getType().getCanonicalType();
  UnnamedTypes unnamed;
  unnamed.TraverseType(type);
  Parameter described;
  described.decl = parameter;
  described.name = parameter->getName().str();
  if (described.name.empty()) described.name = "argument" + std::to_string(index);
  if (unnamed.found) {
    parsed.error(parameter->getLocation(), "the type of parameter '" + described.name +
                                               "' has no name outside of its place, but generated "
                                               "code must write it; name the type");
    return std::nullopt;
  }
  const clang::PrintingPolicy policy = plain_names(parsed);
  clang::QualType passed = type;
  passed.removeLocalConst();
  passed.removeLocalVolatile();
  described.type = passed.getAsString(policy);
  described.declared = described.name;
  passed.getAsStringInternal(described.declared, policy);
  described.grid_constant = is_grid_constant(parsed, parameter);
  return described;
}

std::vector<StringRef> names_of(const Instance& instance) {
  std::vector<StringRef> names;
  for (const Parameter& parameter : instance.parameters) names.push_back(parameter.name);
  return names;
}

// Reports what keeps `function` from being the one that is woven.
bool check_function(const Parsed& parsed, const Reading& reading,
                    const clang::FunctionDecl* function, const clang::FunctionDecl* definition) {
  const auto refuse = [&](const llvm::Twine& reason) {
    parsed.error(function->getLocation(), "'" + reading.asked + "' " + reason);
    return false;
  };
  if (clang::isa<clang::CXXMethodDecl>(function)) {
    return refuse("is a member function; name a function outside of classes");
  }
  if (!definition || !definition->getBody()) {
    return refuse("is declared here, but not defined in what is read");
  }
  if (reading.cuda && !definition->hasAttr<clang::CUDAGlobalAttr>()) {
    return refuse("is not a kernel; declare it __global__");
  }
  if (function->isVariadic()) return refuse("is variadic; name its parameters");
  return true;
}

}  // namespace

const clang::VarDecl* asking_variable(const Parsed& parsed) {
  const clang::DeclarationName wanted(&parsed.ast.Idents.get(kAskedName));
  for (const clang::NamedDecl* decl : parsed.ast.getTranslationUnitDecl()->lookup(wanted))
    if (const auto* variable = dyn_cast<clang::VarDecl>(decl); variable && variable->getInit())
      return variable;
  return nullptr;
}

const clang::FunctionDecl* function_asked_for(const Parsed& parsed) {
  const clang::VarDecl* variable = asking_variable(parsed);
  if (!variable) return nullptr;
  const clang::Expr* value = variable->getInit()->IgnoreParenImpCasts();
  if (const auto* address = dyn_cast<clang::UnaryOperator>(value))
    value = address->getSubExpr()->IgnoreParenImpCasts();
  const auto* name = dyn_cast<clang::DeclRefExpr>(value);
  return name ? dyn_cast<clang::FunctionDecl>(name->getDecl()) : nullptr;
}

std::optional<Instance> find_instance(const Parsed& parsed, const Reading& reading) {
  const clang::FunctionDecl* function = function_asked_for(parsed);
  if (!function) {
    parsed.report.error("'" + reading.asked +
                        "' does not name a function; write it as in lib::gemm<128, float>");
    return std::nullopt;
  }
  const clang::FunctionDecl* definition = nullptr;
  function->isDefined(definition);
  if (!check_function(parsed, reading, function, definition)) return std::nullopt;
  Instance instance;
  instance.function = definition;
  const clang::FunctionDecl* pattern = definition->getTemplateInstantiationPattern();
  instance.written = pattern ? pattern : definition;
  for (const clang::ParmVarDecl* parameter : definition->parameters()) {
    auto described = describe(parsed, parameter, instance.parameters.size());
    if (!described) return std::nullopt;
    if (llvm::is_contained(names_of(instance), described->name)) {
      parsed.error(parameter->getLocation(), "parameter pack '" + described->name +
                                                 "' stands for several parameters of one name; "
                                                 "name each");
      return std::nullopt;
    }
    instance.parameters.push_back(std::move(*described));
  }
  return instance;
}

bool check_asked(StringRef asked, Report& report) {
  using clang::tok::TokenKind;
  constexpr TokenKind kAllowed[] = {TokenKind::raw_identifier,
                                    TokenKind::coloncolon,
                                    TokenKind::less,
                                    TokenKind::greater,
                                    TokenKind::greatergreater,
                                    TokenKind::greatergreatergreater,
                                    TokenKind::comma,
                                    TokenKind::numeric_constant,
                                    TokenKind::char_constant,
                                    TokenKind::star,
                                    TokenKind::amp,
                                    TokenKind::minus,
                                    TokenKind::l_paren,
                                    TokenKind::r_paren};
  constexpr size_t kMaxBytes = 4096;
  const Tokens tokens(asked);
  bool good = !asked.empty() && asked.size() <= kMaxBytes && !asked.contains('\n') &&
              !asked.contains('\\') && !asked.contains("??");
  for (const Token& token : tokens.all()) good &= llvm::is_contained(kAllowed, token.kind);
  const TokenKind first = tokens.all().empty() ? TokenKind::eof : tokens.all().front().kind;
  good &= first == TokenKind::raw_identifier || first == TokenKind::coloncolon;
  if (!good) {
    report.error("'" + asked + "' is no name of a function, such as gemm or lib::gemm<128, float>");
  }
  return good;
}

namespace {

// The last clean parse. A kernel is examined, then woven, then perhaps put out as it is. Each of
// these steps looks at the same tree, which takes seconds to make for a large library. It is never
// freed.
std::unique_ptr<Parse>& last_parse() {
  static auto* const last = new std::unique_ptr<Parse>;
  return *last;
}

// "kernel.cu:12": the line at which the generator failed, or the file.
std::string place_of(const OneFile& source, const Text& text, const Fault& fault) {
  if (!fault.place) return source.files.front().name;
  const OneFile::Origin origin = source.origin_of(text.origin_of(*fault.place));
  const OneFile::File& file = source.files[origin.file];
  const size_t line = 1 + llvm::StringRef(file.text).take_front(origin.offset).count('\n');
  return file.name + ":" + std::to_string(line);
}

}  // namespace

bool read_function(const OneFile& source, const Reading& reading, Diagnostics& diagnostics,
                   llvm::function_ref<void(Parsed&, const Instance&)> use) {
  Report report(diagnostics, source);
  const Text text = with_plain_lines(source.text);
  check_limits(text, report);
  if (!report.ok() || !check_asked(reading.asked, report)) return false;
  bool read = false;
  const auto look = [&] {
    std::unique_ptr<Parse> parse = std::move(last_parse());
    if (parse && !parse->is_of(text, reading)) parse.reset();
    if (!parse) parse = Parse::of(text, reading, report);
    if (!parse) return;
    read = parse->look(report, [&](Parsed& parsed) {
      const std::optional<Instance> instance = find_instance(parsed, reading);
      if (!instance) return;
      note_place(parsed.expanded(instance->function->getLocation()));
      use(parsed, *instance);
    });
    last_parse() = std::move(parse);
  };
  try {
    do_on_large_stack(look);
  } catch (const Fault& fault) {
    throw std::runtime_error(place_of(source, text, fault) + ", where '" + reading.asked +
                             "' is read: " + fault.what());
  }
  return read;
}

}  // namespace tilepost
