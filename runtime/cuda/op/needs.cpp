// What an operation would allocate, before it is made. Each class whose create() allocates says how
// much that is for a plan (add_needs). What an operation has allocated is counted apart from this,
// by what its memory is (CudaOp::add_memory).
#include "runtime/cuda/op/op.h"
#include "runtime/cuda/op/select.h"
#include "runtime/cuda/transport/host/host_copies.h"

namespace tilepost::cuda {
namespace {

// The operations of a family in the order in which they are made, and the memory that they share.
class Needs {
 public:
  // `made`: memory that operations share with these, which adds to it.
  Needs(Communicator& comm, const tilepost_options_t& options, const OpFamily& family,
        std::vector<SharedLayout>& made, tilepost_memory_t& memory)
      : comm_(comm), options_(options), family_(family), made_(made), memory_(memory) {}

  void add(const tilepost_plan_t& plan) {
    RunCounters::add_needs(plan.map.num_groups, memory_);
    DeviceMaps::add_needs(plan, family_.part_of(options_.schedule_bytes), memory_);
    const auto planned =
        is_routed(plan) ? nullptr : make_run_map(plan, comm_.rank(), rows_of_runs(plan));
    OpBuffers::add_needs(plan, planned.get(), Lanes::num_of(plan), memory_);
    Routes::add_needs(plan, memory_);
    if (paths_of(plan).planned.lends_out) RegisteredOutputs::add_needs(plan.ranks, memory_);
    add_transport(plan);
  }

 private:
  void add_transport(const tilepost_plan_t& plan) {
    if (path_of(plan, true).shares_memory()) {
      SharedService::add_needs(plan, memory_);
      add_arena(plan);
    } else if (plan.transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC) {
      WindowMemory::add_needs(window_layout(plan, most_sizes(plan)), memory_);
    } else if (plan.transport == TILEPOST_TRANSPORT_HOST_COPIES && plan.ranks > 1) {
      HostCopies::add_needs(plan, memory_);
      if (!has_rings_) memory_.pinned_bytes += HostRings::bytes_of(plan.ranks, ring_shape_of(plan));
      has_rings_ = true;
    }
  }

  // Operations that share memory take none where there is room in memory that was made before, for
  // operations of the communicator or for the family's own.
  void add_arena(const tilepost_plan_t& plan) {
    const bool shares = options_.share_memory != 0;
    const ArenaNeed need =
        SharedService::need_of(plan, shares || family_.takes_turns(), family_.plans);
    if (need.shares) {
      for (const SharedLayout& made : made_)
        if (fits(made, need.layout)) return;
      for (const auto& kept : comm_.arenas())
        if (const auto arena = kept.lock(); shares && arena && arena->has_room(need.layout)) return;
      made_.push_back(need.layout);
    }
    SharedArena::add_needs(need.layout, memory_);
  }

  Communicator& comm_;
  const tilepost_options_t& options_;
  const OpFamily& family_;
  std::vector<SharedLayout>& made_;
  tilepost_memory_t& memory_;
  bool has_rings_ = false;
};

}  // namespace

tilepost_result_t add_needs_of_ops(Communicator& comm, std::span<const tilepost_program_t> programs,
                                   const tilepost_options_t& options, tilepost_memory_t& memory) {
  DeviceInfo device;
  TILEPOST_TRY(read_device(comm.device(), device));
  std::vector<SharedLayout> made;
  for (const tilepost_program_t& program : programs) {
    PlanRanges plans;
    TILEPOST_TRY(choose_plans(program, device, comm.world(), plans));
    const OpFamily family(plans);
    if (options.share_memory == 0) made.clear();
    Needs needs(comm, options, family, made, memory);
    for (const tilepost_plan_t* plan : plans) needs.add(*plan);
  }
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
