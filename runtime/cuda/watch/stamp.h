// Noting the device's time in the middle of a stream, for runs whose timelines are recorded.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tilepost::cuda {

// Loads the kernel below, so that it need not be loaded while something waits.
cudaError_t preload_stamp();

// Raises `word`, in this GPU's memory, to the time in ns at which the stream comes here.
cudaError_t launch_stamp(uint64_t* word, cudaStream_t stream);

}  // namespace tilepost::cuda
