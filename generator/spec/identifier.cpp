#include "generator/spec/identifier.h"

#include <algorithm>

#include "llvm/ADT/StringExtras.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// C++20 keywords and alternative tokens, macros of compilers and of the C headers, and names that
// the headers of generated code declare at global scope and that make a plausible name of a
// program.
constexpr StringRef kReserved[] = {"BUFSIZ",       "EOF",
                                   "FILE",         "NULL",
                                   "abort",        "abs",
                                   "alignas",      "alignof",
                                   "and",          "and_eq",
                                   "asm",          "assert",
                                   "atoi",         "auto",
                                   "bitand",       "bitor",
                                   "bool",         "break",
                                   "case",         "catch",
                                   "ceil",         "char",
                                   "char16_t",     "char32_t",
                                   "char8_t",      "class",
                                   "co_await",     "co_return",
                                   "co_yield",     "compl",
                                   "complex",      "concept",
                                   "const",        "const_cast",
                                   "consteval",    "constexpr",
                                   "constinit",    "continue",
                                   "cos",          "cuda",
                                   "decltype",     "default",
                                   "delete",       "div",
                                   "do",           "double",
                                   "dynamic_cast", "else",
                                   "enum",         "errno",
                                   "exit",         "exp",
                                   "explicit",     "export",
                                   "extern",       "false",
                                   "float",        "floor",
                                   "fma",          "fmax",
                                   "fmin",         "for",
                                   "free",         "friend",
                                   "gamma",        "goto",
                                   "half",         "i386",
                                   "if",           "index",
                                   "inline",       "int",
                                   "linux",        "log",
                                   "long",         "main",
                                   "malloc",       "max",
                                   "min",          "mutable",
                                   "namespace",    "new",
                                   "noexcept",     "not",
                                   "not_eq",       "nullptr",
                                   "nvcuda",       "operator",
                                   "or",           "or_eq",
                                   "pow",          "printf",
                                   "private",      "protected",
                                   "public",       "rand",
                                   "register",     "reinterpret_cast",
                                   "remove",       "rename",
                                   "requires",     "restrict",
                                   "return",       "round",
                                   "short",        "signal",
                                   "signed",       "sin",
                                   "sizeof",       "sqrt",
                                   "static",       "static_assert",
                                   "static_cast",  "std",
                                   "stderr",       "stdin",
                                   "stdout",       "struct",
                                   "switch",       "system",
                                   "tan",          "template",
                                   "this",         "thread_local",
                                   "throw",        "time",
                                   "true",         "try",
                                   "typedef",      "typeid",
                                   "typename",     "union",
                                   "unix",         "unsigned",
                                   "using",        "virtual",
                                   "void",         "volatile",
                                   "wchar_t",      "while",
                                   "xor",          "xor_eq"};

}  // namespace

llvm::ArrayRef<StringRef> reserved_names() {
  return kReserved;
}

std::string why_not_a_name(StringRef name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxNameLength) {
    return "has " + std::to_string(name.size()) + " characters, at most " +
           std::to_string(kMaxNameLength) + " are allowed";
  }
  const auto is_word = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (!std::all_of(name.begin(), name.end(), is_word) || llvm::isDigit(name[0]))
    return "is not a C identifier (letters, digits and '_', not starting with a digit)";
  if (name[0] == '_') return "starts with an underscore; C++ reserves such names";
  if (name.contains("__")) return "contains '__'; C++ reserves such names";
  if (name.starts_with(kReservedPrefix)) return "starts with 'tilepost', which is the runtime's";
  if (std::binary_search(std::begin(kReserved), std::end(kReserved), name))
    return "is a C++ keyword or a name of the standard headers";
  return "";
}

}  // namespace tilepost
