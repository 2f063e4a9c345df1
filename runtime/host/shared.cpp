#include "runtime/host/shared.h"

namespace tilepost {
namespace {

// Adds up the parts of a sum. Each part is in a block of slots. But where ranks read each other's
// memory, this rank's own part is in `send`, where its kernel has stored it.
template <class T>
void add_parts(const HostSharedRun& run, const Step& step) {
  const HostMemory& own = *run.memory[run.rank];
  Sum<T> sum{{}, {static_cast<T*>(run.received) + step.to}, step.count};
  const bool reads = run.path.access == TILEPOST_ACCESS_READ;
  sum.rounds_each = !reads && run.plan.sum == TILEPOST_SUM_ADDED;
  for (int source = 0; source < run.plan.ranks; ++source) {
    const bool in_send = reads && source == run.rank;
    sum.terms.push_back(in_send ? static_cast<const T*>(own.send) + step.from
                                : static_cast<const T*>(own.slots) +
                                      run.slots.at(source, step.from_slot));
  }
  if (row_of(run.plan).product_spreads() && run.path.pushes != Pushes::results)
    sum.results.push_back(static_cast<T*>(own.sums) + step.from_slot);
  add_up(sum);
}

}  // namespace

void carry_out_step(const HostSharedRun& run, const Step& step) {
  const int width = static_cast<int>(element_bytes(run.plan.output));
  const HostMemory& own = *run.memory[run.rank];
  const HostMemory& peer = *run.memory[step.peer];
  const auto copy = [&](const void* from, void* to, int64_t first, int bytes) {
    if (from == to && step.from == first) return;  // sums that have landed in their final place
    copy_elements(from, step.from, to, first, step.count, bytes);
  };
  switch (step.kind) {
    case StepKind::own_rows:
      copy_input(run.input, run.a, step.from, own.gathered, step.to, step.count);
      break;
    case StepKind::pull_part:
      copy(peer.send, own.slots, run.slots.at(step.peer, step.to), width);
      break;
    case StepKind::pull:
      copy(peer.send, run.received, step.to, width);
      break;
    case StepKind::pull_sums:
      copy(peer.sums, run.received, step.to, width);
      break;
    case StepKind::push_rows:
      copy_input(run.input, run.a, step.from, peer.gathered, step.to, step.count);
      break;
    case StepKind::push_sums:
      copy(run.received, peer.landed, step.to, width);
      break;
    case StepKind::own_part:
      copy(run.path.access == TILEPOST_ACCESS_READ ? own.send : own.landed, run.received, step.to,
           width);
      break;
    case StepKind::landed_part:
    case StepKind::landed_sums:
      copy(own.landed, run.received, step.to, width);
      break;
    case StepKind::sum:
      with_element(run.plan.output, [&]<class T>(T) { add_parts<T>(run, step); });
      break;
    case StepKind::landed_rows:  // nothing to copy: these rows are read where they land
    case StepKind::announce:
    case StepKind::announce_sums:
    case StepKind::all_reduce:
    case StepKind::reduce_scatter:
    case StepKind::send:
    case StepKind::receive:
    case StepKind::all_gather:
    case StepKind::send_rows:
    case StepKind::send_own_rows:
    case StepKind::receive_rows:
      break;
  }
}

}  // namespace tilepost
