// Stand-ins for CUDA's headers and the standard library, with which kernels are parsed.
//
// The generator needs declarations to build the tree, not definitions, because the result is
// compiled with the real headers. So a kernel is parsed without any installation and in the same
// way on every machine.
#pragma once

#include <string>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

struct VirtualFile {
  llvm::StringRef name;  // as in #include <name>
  llvm::StringRef text;
};

// The text that is included before the first line of a CUDA source: keywords, builtin variables,
// device functions.
llvm::StringRef cuda_prelude();

// The stand-in headers.
llvm::ArrayRef<VirtualFile> stub_headers();

// Whether a source may include the stand-in header. CUDA's headers exist for CUDA sources only.
bool is_known(const VirtualFile& header, bool cuda);

// The headers that a kernel may include, as a list for messages: "<algorithm>, <bit>, …,
// <tilepost/…>".
std::string known_headers(bool cuda);

// The headers that full mode adds to those that are installed.
llvm::ArrayRef<VirtualFile> added_headers();

}  // namespace tilepost
