// The warp-specialised Hopper GEMM (templates/gemm_sm90.cu): a warpgroup of movers loads by TMA and
// stores, two or three warpgroups multiply. It serves operands that TMA can address.
#pragma once

#include <vector>

#include "generator/plan/kernels/family.h"
#include "tilepost/internal/task_chunks.h"

namespace tilepost {

// Warpgroups that multiply are called consumers. A consumer stages its sums of C in panels.
struct Sm90Shape : FamilyShape {
  int panels = 0;   // of a consumer
  int panel_m = 0;  // rows of a panel
  int panel_n = 0;  // columns of a panel
  int consumers = 2;
  bool pingpong = false;   // whether consumers take turns at whole tiles, or share a tile
  bool swapped = false;    // whether the matrix instruction's rows are columns of B
  bool for_tasks = false;  // whether shared memory is left for tasks of helper warps
  bool scales = false;     // whether shared memory has the scales of blocks
};

const KernelFamily& sm90_family();

// Its configurations in order of preference, for all plans.
const std::vector<KernelConfig>& sm90_configs();
// Those of plans with scales of blocks: the same, and more.
const std::vector<KernelConfig>& sm90_block_configs();

// The shape of a configuration of this family.
const Sm90Shape& sm90_shape(const KernelConfig& config);
// `config` with another shape.
KernelConfig with_shape(KernelConfig config, const Sm90Shape& shape);

// Shared memory that a kernel leaves to the tasks of its helper warp, bytes: buffers of 16 KiB and
// their barriers. Sums were slower with more and smaller buffers, and no faster with fewer
// (tests/gpu/tasks.cu).
constexpr int kHelperBytes = 16384 + kTaskBarriers;

// Consumers that multiply parts of one tile, and the sums of it that a thread holds.
int sharers_of(const Sm90Shape& shape);
int sums_of_thread(const KernelConfig& config, const Sm90Shape& shape);

// Panels that one thread stores of a tile: one for each consumer that has a part of it.
int panels_of_tile(const KernelConfig& config, const Sm90Shape& shape);

// Whether sums and addresses of a plain product take all registers: where a thread has 192 sums, A
// is shared and the tile not swapped. With boxes of B in rows of K, or addresses of other ranks'
// memory, they would spill.
bool fills_registers(const KernelConfig& config);

// The time of the kernel (model.cpp).
GemmModel model_sm90(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                     const KernelRequest& request);

}  // namespace tilepost
