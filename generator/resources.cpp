#include "generator/resources.h"

#include <algorithm>

namespace tilepost {

std::optional<llvm::StringRef> find_resource(llvm::StringRef path) {
  const llvm::ArrayRef<Resource> all = resources();
  const auto found = std::lower_bound(
      all.begin(), all.end(), path,
      [](const Resource& resource, llvm::StringRef wanted) { return resource.path < wanted; });
  if (found == all.end() || found->path != path) return std::nullopt;
  return found->text;
}

}  // namespace tilepost
