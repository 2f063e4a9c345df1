// Which kernels a library launches, for a table to name them.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

namespace tilepost::bench {

// The kernels that `launch` would put on the stream, joined by " + ". It is captured into a graph,
// which nobody runs. "" where the driver is older than 12.3 and does not tell names, or where
// `launch` cannot be captured: no measurement ends for want of a name.
std::string kernel_names(const std::function<void()>& launch, cudaStream_t stream);

}  // namespace tilepost::bench
