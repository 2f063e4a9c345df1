// Profiles of machines that nobody has measured for tilepost: what was measured on another one,
// changed by what data sheets and others' benchmarks say. Each file in machines/ names its sources.
#pragma once

#include "generator/plan/machine/profile.h"

namespace tilepost {

// What an estimate begins with: the profile of four H200, not measured.
MachineProfile estimate_from_h200();

// Multiplies what links take of a collective. Its latency stays.
void scale_links(CollectiveProfile& collective, double factor);

// Links that take `factor` times as long as those of the profile, whatever moves data over them.
// Latencies stay.
void slow_links(MachineProfile& profile, double factor);

// GPUs that do not reach each other's memory. NCCL's kernels pass data through host memory, and
// take `nccl_us_per_mib` for every MiB that a rank sends; copy engines take `copy_us_per_mib`
// where two ranks share the host, and as much more as there are more ranks.
void without_peer_access(MachineProfile& profile, double nccl_us_per_mib, double copy_us_per_mib);

// A chip of `sms` SMs, whose memory carries `memory_bytes_per_us`, at a clock of up to `max_ghz`.
void set_chip(MachineProfile& profile, int sms, double memory_bytes_per_us, double max_ghz);

// Multiplies what all kernels of mma.sync reach of the tensor peak of the architecture.
void scale_ampere(MachineProfile& profile, double factor);

}  // namespace tilepost
