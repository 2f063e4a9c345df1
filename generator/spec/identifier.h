// What may be a program's name: it becomes the end of a namespace, a prefix of symbols and a file
// name. Keywords, macros and names of other libraries are allowed, because generated code never
// spells the name alone.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tilepost {

inline constexpr size_t kMaxNameLength = 64;

// An ECMA-262 regular expression for names: letters, digits and single underscores inside, so that
// a name is no path and no identifier that C++ reserves ([lex.name]).
inline constexpr std::string_view kNamePattern = "^[A-Za-z](_?[A-Za-z0-9])*$";

// Whether `name` has the form of a C identifier, as a parameter's name must.
bool is_c_name(std::string_view name);

// Names that have the form but are taken: those of headers that <name>.h would be mistaken for, and
// words that YAML does not read as words. Sorted.
std::span<const std::string_view> taken_names();

// Names with this prefix belong to the runtime.
inline constexpr std::string_view kReservedPrefix = "tilepost";

// Why `name` cannot be a program's name, without the name itself; "" if it can.
std::string why_not_a_name(std::string_view name);

}  // namespace tilepost
