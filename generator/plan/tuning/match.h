// Which choices of a tuning file a spec gets.
#pragma once

#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/tuning/entry.h"

namespace tilepost {

// The choices for the spec's architectures. An architecture without an entry that was measured for
// this machine, version and shape gets none. A warning says so, and names both. The host target
// needs no choice.
std::vector<TunedPick> picks_for(const TuningFile& file, const Spec& spec,
                                 const MachineProfile& profile, Diagnostics& diagnostics);

// Whether CUDA's name of a GPU is that of the profile's: "NVIDIA H200" of "H200".
bool is_gpu_of(const std::string& gpu, const MachineProfile& profile);

}  // namespace tilepost
