// The kernels that a library launches, for a table that names them.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

namespace tilepost::bench {

// The kernels that `launch` would put on the stream, joined by " + ". The launch is captured into a
// graph that nobody runs. Returns "" if the driver is older than 12.3 and does not tell names, or
// if `launch` cannot be captured: no measurement fails because it has no name.
std::string kernel_names(const std::function<void()>& launch, cudaStream_t stream);

}  // namespace tilepost::bench
