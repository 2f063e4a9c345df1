// Where the CUDA Toolkit is.
#pragma once

#include <optional>
#include <string>

namespace tilepost {

// The folder of the toolkit, whose include/ has cuda_runtime.h: that of $CUDACXX, of the nvcc on
// PATH, $CUDA_PATH, $CUDA_HOME, /usr/local/cuda. Without one nothing, and `looked` says where it
// was looked for.
std::optional<std::string> find_toolkit(std::string& looked);

// Whether `folder` has the headers of one.
bool is_toolkit(const std::string& folder);

}  // namespace tilepost
