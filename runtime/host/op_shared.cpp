// Runs whose ranks share memory (runtime/map/steps.h): ranks read each other's memory, or their
// kernels store into it.
//
// Ranks meet where a run begins, because from then on places that others have read or stored to may
// be written again. They meet where a rank announces something, because the others read it from
// then on. And they meet where the run ends. A kernel that stores into other ranks' memory starts
// after the first meeting.
#include "runtime/host/op.h"
#include "runtime/host/shared.h"

namespace tilepost {

// Carries out a run. Here and below, false means that the communicator was aborted.
bool HostOp::share_memory(uint64_t run, const Request& request) {
  const RunMap& map = *request.run;
  void* landed = request.output != 0 ? request.operands.out : landed_.data();
  memory_ = {request.epilogue.out, slots_.data(),   sums_.data(), landed,
             request.gathered,     counters_.data()};
  if (!group_->begin_collective(rank_, place_of(request, HostStep::kBegin), &memory_,
                                deadline_seconds_))
    return false;
  HostGroup::Visit visit(*group_);
  std::vector<const HostMemory*> memory;
  memory.reserve(plan_.ranks);
  for (int rank = 0; rank < plan_.ranks; ++rank)
    memory.push_back(&group_->brought<HostMemory>(rank));
  if (map.path.stores_by_owner) {
    set_places(map, memory);
    open(run);
  }
  const tilepost_run_operands_t& operands = request.operands;
  const HostSharedRun shared{plan_,
                             map.path,
                             rank_,
                             blocks_,
                             memory.data(),
                             input_of(request),
                             at(map.path.results, request),
                             input_};
  for (int g = 0; g < map.num_groups(); ++g)
    if (!shared_group(place_of(request, g), request, shared)) return false;
  const int64_t gathered = map.path.reads != InputFrom::a ? map.rows * plan_.k : 0;
  if (operands.gathered != nullptr)
    copy_elements(request.gathered.rows, 0, operands.gathered, 0, gathered, input_.bytes);
  if (operands.gathered_scales != nullptr && input_.scales.exist())
    copy_elements(request.gathered.scales, 0, operands.gathered_scales, 0,
                  input_.scales.of(gathered), sizeof(float));
  return visit.end_collective(rank_, place_of(request, HostStep::kEnd), deadline_seconds_);
}

bool HostOp::shared_group(const HostStep& place, const Request& request,
                          const HostSharedRun& shared) {
  const RunPath& path = request.run->path;
  if (path.waits == Waits::steps && !wait_group(place, request.run->targets[place.group]))
    return false;
  for (const Step& step : request.run->steps[place.group])
    if (!shared_step(place, shared, step)) return false;
  if (path.input_arrives()) raise_arrived(place.group, request);
  return true;
}

bool HostOp::shared_step(const HostStep& place, const HostSharedRun& shared, const Step& step) {
  if (step.kind == StepKind::announce || step.kind == StepKind::announce_sums)
    return group_->meet_again(rank_, place, deadline_seconds_);
  carry_out_step(shared, step);
  return true;
}

void HostOp::set_places(const RunMap& map, const std::vector<const HostMemory*>& memory) {
  peer_out_.clear();
  peer_counters_.clear();
  for (int owner = 0; owner < plan_.ranks; ++owner) {
    const OwnerPlace place = place_at_owner(plan_, blocks_, map.map(), rank_, owner);
    void* block = place.in_slots ? memory[owner]->slots : memory[owner]->landed;
    peer_out_.push_back(static_cast<char*>(block) + place.first * output_bytes_);
    peer_counters_.push_back(memory[owner]->counters);
  }
}

// Sets the places for a run that does not overlap, in which the kernel stores into this rank's own
// memory.
void HostOp::set_own_place(void* send) {
  peer_out_.assign(1, send);
  peer_counters_.assign(1, counters_.data());
}

}  // namespace tilepost
