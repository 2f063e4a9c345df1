#include "generator/spec/identifier.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilepost {
namespace {

using std::string_view;

// C++20 keywords and alternative tokens, macros of compilers and of the C headers, and names that
// the headers of generated code declare at global scope and that make a plausible name of a
// program.
constexpr string_view kReserved[] = {"BUFSIZ",       "EOF",
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

// Whatever the locale.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::span<const string_view> reserved_names() {
  return kReserved;
}

std::string why_not_a_name(string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxNameLength) {
    return fmt::format("has {} characters, at most {} are allowed", name.size(), kMaxNameLength);
  }
  if (!std::ranges::all_of(name, is_word) || is_digit(name[0]))
    return "is not a C identifier (letters, digits and '_', not starting with a digit)";
  if (name[0] == '_') return "starts with an underscore; C++ reserves such names";
  if (name.find("__") != string_view::npos) return "contains '__'; C++ reserves such names";
  if (name.starts_with(kReservedPrefix)) return "starts with 'tilepost', which is the runtime's";
  if (std::ranges::binary_search(kReserved, name))
    return "is a C++ keyword or a name of the standard headers";
  return "";
}

}  // namespace tilepost
