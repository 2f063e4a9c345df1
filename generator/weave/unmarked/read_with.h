// Finds out on which macros from outside of a kernel's file its lines depend.
#pragma once

#include <set>
#include <string>

#include "generator/clang/parser.h"
#include "generator/weave/pieces/pieces.h"

namespace tilepost {

// The conditions under which the kept lines were read. Generated code must be compiled under the
// same conditions, because nothing was proven about other lines.
struct ReadWith {
  std::set<std::string> undefined;  // macros that conditions depend on, and nobody defines
  bool arch = false;                // whether lines depend on __CUDA_ARCH__
  bool version = false;             // … on __CUDACC_VER_MAJOR__ or __CUDACC_VER_MINOR__
};

// Refuses kept conditions and code that depend on macros of a header or of the compiler, if their
// values may differ when generated code is compiled. Macros of the architecture are allowed if the
// text is woven for a single architecture (`one_arch`).
ReadWith check_foreign_macros(const Parsed& parsed, const Pieces& pieces, bool one_arch);

// Lines with #error that stop the compilation if one of `read_with.undefined` is defined. If lines
// depend on the version, they also stop a compilation by another version of nvcc than that of
// `reading`. The messages name the kernel `kernel`.
std::string guards(const ReadWith& read_with, const Reading& reading, const std::string& kernel);

// Whether kept lines depend on the version of nvcc, which stand-ins for CUDA's headers do not know.
bool asks_for_version(const Parsed& parsed, const Pieces& pieces);

}  // namespace tilepost
