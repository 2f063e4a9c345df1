// Where the CUDA Toolkit is, and how its headers are read.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilepost {

// The folder of the toolkit, whose include/ has cuda_runtime.h: that of $CUDACXX, of the nvcc on
// PATH, $CUDA_PATH, $CUDA_HOME, /usr/local/cuda. Without one nothing, and `looked` says where it
// was looked for.
std::optional<std::string> find_toolkit(std::string& looked);

// The versions of the toolkit in that folder, as nvcc says them by __CUDACC_VER_MAJOR__ and
// __CUDACC_VER_MINOR__; 0 where its headers say none.
struct ToolkitVersion {
  int major = 0, minor = 0;
};
ToolkitVersion version_of_toolkit(const std::string& folder);

// Whether `folder` has the headers of one.
bool is_toolkit(const std::string& folder);

// A header that Clang takes only with a change.
struct AdaptedHeader {
  std::string path;  // on disk, whose text is read instead of what is there
  std::string text;
};

// Those of the toolkit in that folder. Clang takes no __shared__ variable of a class whose
// destructor has a body, and leaves out what a template does with it: cuda::barrier's has one,
// which ends a barrier in shared memory and stores nowhere else. It is read as an empty one.
std::vector<AdaptedHeader> adapted_headers(const std::string& toolkit);

}  // namespace tilepost
