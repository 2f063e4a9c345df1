// Kernels that store into other ranks' memory (transport peer): which can, and how fast they may.
#pragma once

#include "generator/plan/kernels/kernels.h"
#include "tilepost/task_chunks.h"

namespace tilepost {

// Whether the configuration stores whole boxes by tensor maps, one map for each owner.
bool stores_to_peers(const KernelConfig& config);

// Whether a whole tile waits in shared memory while the next one is computed, so that all its
// stores may take as long as that.
bool stages_whole_tile(const KernelConfig& config);

// Shared memory that a kernel leaves to the tasks of its helper warp: buffers of 16 KiB. With more
// of them, and smaller, sums were slower, with fewer no faster (tests/gpu/tasks.cu).
constexpr int kHelperBytes = 16384 + kTaskBarriers;

// tilepost_plan_t::task_parts under such a transport: as many as there are ranks where their parts
// of a sum lie side by side, 1 where rows have to be moved on; 0 where the kernel has no helper
// warp that could, or not the registers and the shared memory for it.
int task_parts_of(const KernelConfig& config, const Plan& plan, tilepost_transport_t transport);

// tilepost_plan_t::pushes of a plan whose access, sum and tasks are chosen: rows of A always are,
// sums where helper warps are there for it. Copy engines and bulk stores push almost twice as fast
// as copy engines pull (profile.cpp).
bool pushes_of(const Plan& plan);

// tilepost_view_t::pace: the stores of a tile spread over most of the next tile's main loop. All
// CTAs finish a tile together; the burst of their stores, issued at once, holds up what follows. 0
// for kernels that do not pace, and where nothing is stored to peers.
int pace_of(const KernelConfig& config, const Plan& plan);

}  // namespace tilepost
