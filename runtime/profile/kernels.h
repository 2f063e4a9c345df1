// The measuring program's own kernels: what memory, links and flags do by themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tilepost::profile {

// Loads all kernels below, so that none has to be loaded while another waits.
void preload_kernels();

// Runs one thread for `ns` nanoseconds. times[0] and times[1] become the clock cycles and the
// nanoseconds that passed meanwhile.
void count_clock(uint64_t* times, uint64_t ns, cudaStream_t stream);

// Reads `bytes` bytes, a multiple of 16, on all SMs. `sink` is never written.
void read_all(const void* from, int64_t bytes, uint32_t* sink, cudaStream_t stream);

// Copies `bytes` bytes, a multiple of 16, by loads and stores of `ctas` CTAs.
void copy_by_kernel(const void* from, void* to, int64_t bytes, int ctas, cudaStream_t stream);

// Two GPUs pass a number to and fro `rounds` times: each waits until `own` has the next number, and
// stores it to `theirs`. The one that is `first` begins. Gives up after 2 s.
void pass_number(uint32_t* own, uint32_t* theirs, uint32_t before, int rounds, bool first,
                 cudaStream_t stream);

// How many clusters of `ctas` CTAs, one for each SM, are resident at once; 0 where the GPU has no
// such clusters.
int resident_clusters(int ctas, int shared_bytes);

}  // namespace tilepost::profile
