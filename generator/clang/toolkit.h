// Finds the CUDA Toolkit, its version, and the headers of it that Clang reads with a change.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilepost {

// The folder of the toolkit, whose include/ has cuda_runtime.h: that of $CUDACXX, of the nvcc on
// PATH, $CUDA_PATH, $CUDA_HOME, /usr/local/cuda. Nothing if there is no toolkit. Then `looked`
// becomes a text that names the searched folders, for a message.
std::optional<std::string> find_toolkit(std::string& looked);

// The version of a toolkit, as in nvcc's __CUDACC_VER_MAJOR__ and __CUDACC_VER_MINOR__. Both are 0
// if the toolkit's headers do not have it.
struct ToolkitVersion {
  int major = 0, minor = 0;
};
ToolkitVersion version_of_toolkit(const std::string& folder);

// Whether `folder` has the headers of a toolkit.
bool is_toolkit(const std::string& folder);

// A header that Clang accepts only with a change.
struct AdaptedHeader {
  std::string path;  // on disk; `text` is read in place of this file
  std::string text;
};

// The adapted headers of the toolkit in that folder:
// - Clang refuses a __shared__ variable of a class whose destructor has a body, and leaves out the
//   code of a template that uses the variable. cuda::barrier has such a destructor, which ends a
//   barrier in shared memory and stores nowhere else. The destructor is read as an empty one.
// - For `pair = {x, y}` with a __half2 or a __nv_bfloat162, Clang cannot choose between the
//   assignment of a pair and the one of a pair's bits, a struct of two integers. nvcc takes the
//   first. The second is read under another name.
std::vector<AdaptedHeader> adapted_headers(const std::string& toolkit);

}  // namespace tilepost
