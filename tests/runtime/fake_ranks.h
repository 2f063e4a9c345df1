// The kernels of runtime/cuda/shared/flags.h and sum.h where ranks are threads: they do what they
// say, on the calling thread.
#pragma once

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/shared/sum.h"
#include "runtime/cuda/watch/waiter.h"

namespace fakes::ranks {

using tilepost::cuda::Flag;
using tilepost::cuda::SharedFlags;
using tilepost::cuda::SumArguments;

using tilepost::cuda::RunBeginning;
using tilepost::cuda::RunWords;

cudaError_t begin(const SharedFlags& flags, const RunBeginning& beginning);
cudaError_t announce(const SharedFlags& flags, Flag flag, int lane, int group);
cudaError_t wait_announced(const SharedFlags& flags, Flag flag, int lane, int group,
                           uint64_t sources);
cudaError_t announce_and_wait(const SharedFlags& flags, Flag flag, int lane, int group,
                              uint64_t sources);
cudaError_t wait_stored(const SharedFlags& flags, int group);
cudaError_t wait_added(const SharedFlags& flags, int group, uint32_t chunks);
cudaError_t end(const SharedFlags& flags);
// Ranks as threads or not.
void post(const tilepost::cuda::PostArguments& post);

// Parts of the above: what counters have to reach in the run that begins; what a rank says of the
// run that it has begun, in a line of another's memory; whether all ranks have said the same, who
// have all begun it, and if not, which the page is to say.
void expect(const SharedFlags& flags, const RunBeginning& beginning);
void tell_run(uint32_t* line, uint32_t run, const RunWords& words);
bool is_common_run(const SharedFlags& flags);

cudaError_t sum(const SumArguments& arguments);

}  // namespace fakes::ranks
