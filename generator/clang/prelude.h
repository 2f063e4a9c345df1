// What stands in for CUDA and the standard library while a kernel is parsed.
//
// The generator needs declarations to build the tree, not definitions: the result is compiled
// against the real headers. So a kernel is parsed without any installation, the same everywhere.
#pragma once

#include <string>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

struct VirtualFile {
  llvm::StringRef name;  // as in #include <name>
  llvm::StringRef text;
};

// Included before the first line of a CUDA source: keywords, builtin variables, device functions.
llvm::StringRef cuda_prelude();

// The stand-in headers.
llvm::ArrayRef<VirtualFile> stub_headers();

// CUDA's headers exist for CUDA sources only.
bool is_known(const VirtualFile& header, bool cuda);

// What a kernel may include, as a sentence's list: "<algorithm>, <bit>, …, <tilepost/…>".
std::string known_headers(bool cuda);

// What full mode adds to the headers that are installed.
llvm::ArrayRef<VirtualFile> added_headers();

}  // namespace tilepost
