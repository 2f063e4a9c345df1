// The kernels of shared_words.h and sum.h where ranks are threads: they do what they say, on the
// calling thread.
#pragma once

#include "runtime/cuda/shared_words.h"
#include "runtime/cuda/sum.h"

namespace fakes::ranks {

using tilepost::cuda::Flag;
using tilepost::cuda::SharedWords;
using tilepost::cuda::SumArguments;

cudaError_t begin(const SharedWords& words, const uint32_t* targets, int groups);
cudaError_t announce(const SharedWords& words, Flag flag, int lane, int group);
cudaError_t wait_announced(const SharedWords& words, Flag flag, int lane, int group,
                           uint64_t sources);
cudaError_t announce_and_wait(const SharedWords& words, Flag flag, int lane, int group,
                              uint64_t sources);
cudaError_t wait_stored(const SharedWords& words, int group);
cudaError_t wait_added(const SharedWords& words, int group, uint32_t chunks);
cudaError_t end(const SharedWords& words);
cudaError_t sum(const SumArguments& arguments);

}  // namespace fakes::ranks
