#include <set>

#include "clang/AST/Type.h"
#include "generator/weave/marks/calls.h"
#include "generator/weave/passes.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using llvm::StringRef;

// One tunable(…) in the source.
struct Tunable {
  CallTokens tokens;
  const Token* comma;
  const Token* close;
  std::string name;
  clang::QualType type;  // null while it depends on template parameters
};

// The literal as it is spelled for a value of `type`, or nothing if `value` is no value of `type`.
std::optional<std::string> literal_of(StringRef value, clang::QualType type,
                                      const clang::ASTContext& ast) {
  if (type.isNull()) return value.str();
  if (const auto* list = type->getAs<clang::EnumType>()) {
    const size_t colons = value.rfind("::");
    const StringRef last = colons == StringRef::npos ? value : value.drop_front(colons + 2);
    for (const auto* enumerator : list->getDecl()->enumerators()) {
      if (enumerator->getName() == last) return value.str();
    }
    return std::nullopt;
  }
  if (type->isBooleanType()) {
    if (value == "true" || value == "1") return "true";
    if (value == "false" || value == "0") return "false";
    return std::nullopt;
  }
  double number;
  if (type->isFloatingType() && value.getAsDouble(number)) return std::nullopt;
  if (!type->isIntegerType()) return value.str();
  llvm::APInt magnitude;
  const bool negative = value.starts_with("-");
  if (value.drop_front(negative).getAsInteger(0, magnitude)) return std::nullopt;
  const unsigned room =
      static_cast<unsigned>(ast.getIntWidth(type)) - (type->isSignedIntegerType() ? 1u : 0u);
  if (magnitude.getActiveBits() > room || (negative && type->isUnsignedIntegerType())) {
    return std::nullopt;
  }
  // The type of the value must stay the same, because overloads and auto depend on it.
  const auto* builtin = type->getAs<clang::BuiltinType>();
  switch (builtin ? builtin->getKind() : clang::BuiltinType::Int) {
    case clang::BuiltinType::UInt:
      return (value + "u").str();
    case clang::BuiltinType::Long:
      return (value + "L").str();
    case clang::BuiltinType::ULong:
      return (value + "uL").str();
    case clang::BuiltinType::LongLong:
      return (value + "LL").str();
    case clang::BuiltinType::ULongLong:
      return (value + "uLL").str();
    default:
      return value.str();
  }
}

class Specialiser {
 public:
  Specialiser(const Parsed& parsed, const WeaveRequest& request)
      : parsed_(parsed), request_(request) {}

  Edits run() {
    for (const Reference& reference : find_references(parsed_)) {
      if (reference.mark != Mark::tunable) continue;
      if (const auto tunable = read(reference)) fold(*tunable, reference);
    }
    check_all_declared();
    return std::move(edits_);
  }

 private:
  std::optional<Tunable> read(const Reference& reference) {
    if (!reference.call) {
      parsed_.error(reference.name->getBeginLoc(),
                    "the address of 'tunable' is taken; call it where the value is needed");
      return std::nullopt;
    }
    const auto tokens = find_call_tokens(parsed_, reference, "tunable");
    if (!tokens) return std::nullopt;
    const auto* name =
        dyn_cast<clang::StringLiteral>(reference.call->getArg(0)->IgnoreParenImpCasts());
    const Token* comma = parsed_.tokens.closing(tokens->open, /*commas=*/true);
    const Token* close = parsed_.tokens.closing(tokens->open);
    if (!name || !name->isOrdinary()) {
      parsed_.error(reference.call->getArg(0)->getExprLoc(),
                    "the name of a tunable must be a string literal, so that the plan can find it");
      return std::nullopt;
    }
    if (!comma || !close || comma == close) {
      parsed_.error(reference.name->getBeginLoc(),
                    "the arguments of 'tunable' come from another macro; write them here");
      return std::nullopt;
    }
    clang::QualType type = reference.call->getType();
    if (reference.call->isTypeDependent()) type = {};
    return Tunable{*tokens, comma, close, name->getString().str(),
                   type.isNull() ? type : type.getCanonicalType().getUnqualifiedType()};
  }

  void fold(const Tunable& tunable, const Reference& reference) {
    const Range fallback = {tunable.comma->end, tunable.close->begin};
    const StringRef text = parsed_.text.part(fallback.begin, fallback.end).trim();
    const auto [first, is_first] =
        declared_.emplace(tunable.name, std::make_pair(text.str(), reference.name->getBeginLoc()));
    const auto value = request_.tunables.find(tunable.name);
    if (value == request_.tunables.end()) {
      if (first->second.first != text) {
        parsed_.error(reference.name->getBeginLoc(),
                      "tunable '" + tunable.name + "' falls back to '" + text + "' here and to '" +
                          first->second.first + "' elsewhere; use one constant for both");
        parsed_.note(first->second.second, "the other one is here");
      }
      keep_fallback(tunable, fallback, text);
      return;
    }
    const auto literal = literal_of(value->second, tunable.type, parsed_.ast);
    if (!literal) {
      parsed_.error(reference.name->getBeginLoc(),
                    "tunable '" + tunable.name + "' is of type '" +
                        tunable.type.getAsString(parsed_.ast.getPrintingPolicy()) +
                        "' here, which '" + value->second + "' is no value of");
      return;
    }
    const bool bare = !StringRef(*literal).starts_with("-") || stands_alone(tunable);
    edits_.replace(tunable.tokens.name_begin, tunable.close->end,
                   bare ? *literal : "(" + *literal + ")");
  }

  // Replaces the call around the fallback and leaves the fallback's text, so that tunables inside
  // of it are folded too.
  void keep_fallback(const Tunable& tunable, Range fallback, StringRef text) {
    const bool simple = stands_alone(tunable) || llvm::all_of(text, [](char c) {
                          return llvm::isAlnum(c) || c == '_' || c == ':' || c == '.' || c == '\'';
                        });
    const size_t begin =
        fallback.begin + parsed_.text.part(fallback.begin, fallback.end).find(text);
    edits_.replace(tunable.tokens.name_begin, begin, simple ? "" : "(");
    edits_.replace(begin + text.size(), tunable.close->end, simple ? "" : ")");
  }

  // Whether no operator touches the call, so that its value needs no parentheses.
  bool stands_alone(const Tunable& tunable) const {
    const Token* name = parsed_.tokens.at(tunable.tokens.name_begin);
    const Token* before = parsed_.tokens.previous(name);
    const Token* after = parsed_.tokens.next(tunable.close);
    const auto opens = {clang::tok::equal, clang::tok::l_paren, clang::tok::l_brace,
                        clang::tok::comma, clang::tok::l_square};
    const auto closes = {clang::tok::semi, clang::tok::r_paren, clang::tok::r_brace,
                         clang::tok::comma, clang::tok::r_square};
    return before && after && llvm::is_contained(opens, before->kind) &&
           llvm::is_contained(closes, after->kind);
  }

  void check_all_declared() {
    std::vector<StringRef> names;
    for (const auto& entry : declared_) names.push_back(entry.first);
    for (const auto& entry : request_.tunables) {
      if (declared_.count(entry.first)) continue;
      std::string help = did_you_mean(entry.first, names);
      if (help.empty()) {
        help = names.empty() ? "; there is none" : "; there are " + llvm::join(names, ", ");
      }
      parsed_.report.error("no tilepost::tunable declares '" + entry.first +
                           "', which the plan sets" + help);
    }
  }

  const Parsed& parsed_;
  const WeaveRequest& request_;
  Edits edits_;
  // By name, the fallback of each tunable as it is written, and its place.
  std::map<std::string, std::pair<std::string, clang::SourceLocation>> declared_;
};

}  // namespace

Edits specialise(const Parsed& parsed, const WeaveRequest& request) {
  return Specialiser(parsed, request).run();
}

}  // namespace tilepost
