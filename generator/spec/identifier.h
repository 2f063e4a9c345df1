// What may be a program's name: it becomes a namespace, a prefix of symbols and a file name.
#pragma once

#include <string>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

inline constexpr size_t kMaxNameLength = 64;

// An ECMA-262 regular expression for names: letters, digits and single underscores inside, so that
// a name is no path and no identifier that C++ reserves ([lex.name]).
inline constexpr llvm::StringLiteral kNamePattern = "^[A-Za-z](_?[A-Za-z0-9])*_?$";

// Names that have the form and are taken: keywords, macros and names in scope of generated code.
// Sorted.
llvm::ArrayRef<llvm::StringRef> reserved_names();

// Names that start so are the runtime's.
inline constexpr llvm::StringLiteral kReservedPrefix = "tilepost";

// Why `name` cannot be a program's name, without the name itself; "" if it can.
std::string why_not_a_name(llvm::StringRef name);

}  // namespace tilepost
