// The names of the kernels that a library launches, for a table.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

namespace tilepost::bench {

// The names of the kernels that `launch` would put on the stream, joined by " + ". The launch is
// captured into a graph that is never run. Returns "" if `launch` cannot be captured, or if the
// driver is older than 12.3 and does not give names. A measurement does not fail because a name is
// unknown.
std::string kernel_names(const std::function<void()>& launch, cudaStream_t stream);

}  // namespace tilepost::bench
