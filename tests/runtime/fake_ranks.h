// Stand-ins for the kernels of runtime/cuda/shared/flags.h and sum.h where ranks are threads. They
// do the kernels' work on the calling thread.
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
// Waits for a flag of a part, which holds the number of the run that has raised it. Returns false
// if the run was given up.
bool wait_for_run(const SharedFlags& flags, const uint32_t* flag, uint32_t run);
cudaError_t end(const SharedFlags& flags);
// These serve both kinds of tests: ranks as threads, and one rank with imitated others.
void post(const tilepost::cuda::PostArguments& post);
void begin_replay(tilepost::cuda::WatchPage* page, const tilepost::cuda::ReplayBeginning& replay);

// Steps of begin() and end(). expect() writes what the counters have to reach in the run that
// begins. tell_run() writes the words of a rank's run into a line of another rank's memory. After
// all ranks have begun the run, is_common_run() compares their words. If they differ, it writes the
// difference to the page and returns false.
void expect(const SharedFlags& flags, const RunBeginning& beginning);
void tell_run(uint32_t* line, uint32_t run, const RunWords& words);
bool is_common_run(const SharedFlags& flags);

cudaError_t sum(const SumArguments& arguments);

}  // namespace fakes::ranks
