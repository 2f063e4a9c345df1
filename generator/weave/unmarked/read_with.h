// What the lines of a kernel's file depend on that the file itself does not say.
#pragma once

#include <set>
#include <string>

#include "generator/clang/parser.h"
#include "generator/weave/pieces/pieces.h"

namespace tilepost {

// With what the kept lines were read. Generated code has to be compiled with the same: in other
// lines nothing was proven.
struct ReadWith {
  std::set<std::string> undefined;  // macros that conditions depend on, and nobody defines
  bool arch = false;                // __CUDA_ARCH__
  bool version = false;             // __CUDACC_VER_MAJOR__ or __CUDACC_VER_MINOR__
};

// Refuses conditions in what is kept that depend on macros of a header or of the compiler, whose
// values may be others when generated code is compiled, and code that has these. The architecture
// may be one of them if the text is woven for no other (`one_arch`).
ReadWith check_foreign_macros(const Parsed& parsed, const Pieces& pieces, bool one_arch);

// Lines that refuse to be compiled with these macros defined, or by another version of nvcc than
// that of `reading`. `kernel` is what they call it.
std::string guards(const ReadWith& read_with, const Reading& reading, const std::string& kernel);

// Whether kept lines depend on the version of nvcc, which stand-ins for CUDA's headers do not know.
bool asks_for_version(const Parsed& parsed, const Pieces& pieces);

}  // namespace tilepost
