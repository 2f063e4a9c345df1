// The files that the generator carries: templates, public headers, runtime sources, the verify
// harness and the other files of bundles.
#pragma once

#include <optional>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

struct Resource {
  llvm::StringRef path;  // relative to the repository: "templates/gemm_sm90.cu"
  llvm::StringRef text;
};

// All resources, sorted by path.
llvm::ArrayRef<Resource> resources();

// The text of the resource at this path, or nothing.
std::optional<llvm::StringRef> find_resource(llvm::StringRef path);

}  // namespace tilepost
