// Cuts a source into pieces that can be kept or dropped: declarations with their comments,
// namespace brackets, and preprocessor lines.
#pragma once

#include <string>
#include <vector>

#include "clang/AST/Decl.h"
#include "generator/clang/parser.h"

namespace tilepost {

struct Piece {
  enum class Kind {
    declaration,    // one or more declarations that share their text
    instantiation,  // an explicit one; never kept, because uses instantiate templates anyway
    open,           // namespace x {, extern "C" {
    close,          // the } of an open piece
    include,
    define,     // also #undef
    condition,  // #if, #ifdef, #ifndef, #else, #elif and #endif
    pragma,
    skipped,  // lines of a branch not taken
    comment,  // the comment at the head of the file
  };

  Kind kind;
  Range code;         // without comments
  Range text;         // with the comments of the code; begins and ends with a token
  bool blank_before;  // whether an empty line stands before the piece
  std::string name;   // the macro of a define; "if", "else" or "endif" of a condition
  std::vector<const clang::Decl*> declarations;
  int partner = -1;          // index of the piece that closes this one or that it closes; -1: none
  std::vector<int> parents;  // the open pieces and #ifs around the piece, outermost first
  bool keep = false;
};

struct Pieces {
  std::vector<Piece> all;

  // The declaration piece that holds `offset`, or -1.
  int at(size_t offset) const;
  // Whether the text at `offset` is kept.
  bool kept(size_t offset) const;
};

Pieces cut_into_pieces(const Parsed& parsed);

// The identifiers in a part of the source, comments and strings excluded.
std::vector<llvm::StringRef> identifiers(const Parsed& parsed, Range range);

// Declarations for the namespaces of included headers that the source opens again. The woven code
// is put into a namespace of its own, and must find what the headers declare there too.
std::string joined_namespaces(const Parsed& parsed);

}  // namespace tilepost
