#include "runtime/host/comm.h"

#include <new>
#include <system_error>

#include "runtime/core/composed/ranged_op.h"
#include "runtime/core/error.h"
#include "runtime/host/check.h"
#include "runtime/host/op.h"
#include "runtime/host/routing/routing.h"

namespace tilepost {
namespace {

constexpr int kDefaultWorkers = 2;

}  // namespace

tilepost_result_t HostComm::create_op(const tilepost_program_t& program,
                                      const tilepost_options_t& options,
                                      std::unique_ptr<tilepost_op>& op) {
  if (group_->aborted())
    return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one: %s",
                group_->failure_text());
  PlanRanges plans;
  TILEPOST_TRY(check_host_program(program, group_->world(), plans));
  const int workers = options.host_workers > 0 ? options.host_workers : kDefaultWorkers;
  const auto family = std::make_shared<HostFamily>(group_, rank_, program.name, std::move(plans));
  std::vector<RangedOp::Part> parts;
  try {
    for (const tilepost_plan_t* plan : family->plans) {
      auto made = std::make_unique<HostOp>(family, *plan, options, workers);
      made->start();
      parts.push_back({rows_of_runs(*plan), std::move(made)});
    }
  } catch (const std::system_error& error) {
    return fail(TILEPOST_OUT_OF_MEMORY, "cannot start %d threads for rank %d of '%s': %s",
                workers + 1, rank_, program.name, error.what());
  }
  family->count();
  if (parts.size() == 1)
    op = std::move(parts.front().op);
  else
    op = std::make_unique<RangedOp>(std::move(parts));
  return TILEPOST_OK;
}

tilepost_result_t HostComm::memory_of(std::span<const tilepost_program_t> programs,
                                      const tilepost_options_t& options,
                                      tilepost_memory_t& memory) {
  const bool shares = options.share_memory != 0;
  std::vector<std::shared_ptr<HostArena>> arenas;
  if (shares) {
    HostStream& stream = group_->stream(rank_);
    const std::lock_guard lock(stream.mutex);
    arenas = stream.arenas;
  }
  HostArenaNeeds shared(true, std::move(arenas));
  for (const tilepost_program_t& program : programs) {
    PlanRanges plans;
    TILEPOST_TRY(check_host_program(program, group_->world(), plans));
    HostArenaNeeds own(plans.size() > 1, {});
    for (const tilepost_plan_t* plan : plans) {
      add_host_needs(*plan, rank_, memory);
      (shares ? shared : own).add(*plan, memory);
    }
  }
  return TILEPOST_OK;
}

tilepost_result_t HostComm::create_routing(const RoutingTerms& terms,
                                           std::unique_ptr<tilepost_expert_routing>& routing) {
  if (group_->aborted())
    return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one: %s",
                group_->failure_text());
  RoutingShape shape{};
  TILEPOST_TRY(check_routing(terms, group_->world(), rank_, shape));
  auto made = std::make_unique<HostRouting>(group_, terms, shape);
  try {
    made->start();
  } catch (const std::system_error& error) {
    return fail(TILEPOST_OUT_OF_MEMORY, "cannot start a thread for rank %d's routing: %s", rank_,
                error.what());
  }
  routing = std::move(made);
  return TILEPOST_OK;
}

}  // namespace tilepost

tilepost_result_t tilepost_comm_create_host(int world, tilepost_comm_t* comms) {
  using tilepost::fail;
  if (comms == nullptr) return fail(TILEPOST_INVALID_ARGUMENT, "%s: comms is null", __func__);
  if (world < 1 || world > tilepost::kMaxHostRanks)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: world must be from 1 to %d, got %d", __func__,
                tilepost::kMaxHostRanks, world);
  try {
    const auto group = std::make_shared<tilepost::HostGroup>(world);
    std::vector<std::unique_ptr<tilepost::HostComm>> made;
    made.reserve(world);
    for (int rank = 0; rank < world; ++rank)
      made.push_back(std::make_unique<tilepost::HostComm>(group, rank));
    for (int rank = 0; rank < world; ++rank) comms[rank] = made[rank].release();
    return TILEPOST_OK;
  } catch (const std::bad_alloc&) {
    return fail(TILEPOST_OUT_OF_MEMORY, "%s: out of host memory", __func__);
  }
}
