#include "runtime/host/collective.h"

#include <vector>

namespace tilepost {
namespace {

// Sums this rank's part of the block for all ranks. The ranks' parts are disjoint and cover the
// block.
template <class T>
void all_reduce(const HostTeam& team, int rank, const Step& step) {
  const int64_t begin = step.count * rank / team.ranks;
  const int64_t end = step.count * (rank + 1) / team.ranks;
  Sum<T> sum{{}, {}, end - begin};
  for (int other = 0; other < team.ranks; ++other) {
    T* block = static_cast<T*>(team.buffers[other]->send) + step.from + begin;
    sum.terms.push_back(block);
    sum.results.push_back(block);
  }
  add_up(sum);
}

// Sums this rank's part of all ranks' blocks, as far as the step keeps it.
template <class T>
void reduce_scatter(const HostTeam& team, int rank, size_t index, const Step& step) {
  Sum<T> sum{{}, {static_cast<T*>(team.buffers[rank]->received) + step.to}, step.keep};
  for (int other = 0; other < team.ranks; ++other)
    sum.terms.push_back(static_cast<const T*>(team.buffers[other]->send) +
                        team.buffers[other]->steps[index].from + rank * step.count);
  add_up(sum);
}

template <class T>
void reduce(const HostTeam& team, int rank, size_t index, const Step& step) {
  if (step.kind == StepKind::all_reduce)
    all_reduce<T>(team, rank, step);
  else
    reduce_scatter<T>(team, rank, index, step);
}

void all_gather(const HostTeam& team, int rank, size_t index, const Step& step) {
  for (int other = 0; other < team.ranks; ++other) {
    const Step& theirs = team.buffers[other]->steps[index];
    if (other != rank)
      copy_input(team.input, team.buffers[other]->gathered, theirs.from,
                 team.buffers[rank]->gathered, theirs.from, step.count);
  }
}

bool sends_rows(StepKind kind) {
  return kind == StepKind::send_rows || kind == StepKind::send_own_rows;
}

// Finds send number `number`, counted from 0, among the peer's sends to this rank. Returns null if
// there is none.
const Step* find_send(const HostBuffers& peer, bool rows, int rank, int number) {
  for (const Step& step : peer.steps)
    if ((rows ? sends_rows(step.kind) : step.kind == StepKind::send) && step.peer == rank &&
        number-- == 0)
      return &step;
  return nullptr;
}

class Receiver {
 public:
  Receiver(const HostTeam& team, int rank)
      : team_(team), rank_(rank), received_(static_cast<size_t>(team.ranks), 0) {}

  // Returns false if the peer has no such send, or sends another number of elements.
  bool receive(const Step& step) {
    const bool rows = step.kind == StepKind::receive_rows;
    const HostBuffers& peer = *team_.buffers[step.peer];
    const HostBuffers& own = *team_.buffers[rank_];
    const Step* send = find_send(peer, rows, rank_, received_[step.peer]++);
    if (send == nullptr || send->count != step.count) return false;
    const bool from_a = send->kind == StepKind::send_own_rows;
    if (rows)
      copy_input(team_.input, from_a ? peer.a : peer.gathered, send->from, own.gathered, step.to,
                 step.count);
    else
      copy_elements(peer.send, send->from, own.received, step.to, step.count,
                    static_cast<int>(element_bytes(team_.output)));
    return true;
  }

 private:
  const HostTeam& team_;
  const int rank_;
  std::vector<int> received_;  // [ranks] how many sends of each rank were received in this group
};

// Whether the collective has the same place among the steps, and the same size, on every rank.
bool all_have(const HostTeam& team, size_t index, const Step& step) {
  for (int other = 0; other < team.ranks; ++other) {
    const std::span<const Step> steps = team.buffers[other]->steps;
    if (index >= steps.size() || steps[index].kind != step.kind || steps[index].count != step.count)
      return false;
  }
  return true;
}

bool is_collective(StepKind kind) {
  return kind == StepKind::all_reduce || kind == StepKind::reduce_scatter ||
         kind == StepKind::all_gather;
}

void run_collective(const HostTeam& team, int rank, size_t index, const Step& step) {
  if (step.kind == StepKind::all_gather)
    all_gather(team, rank, index, step);
  else
    with_element(team.output, [&]<class T>(T) { reduce<T>(team, rank, index, step); });
}

}  // namespace

void copy_own_rows(const HostBuffers& own, const InputFormat& input) {
  for (const Step& step : own.steps)
    if (step.kind == StepKind::own_rows)
      copy_input(input, own.a, step.from, own.gathered, step.to, step.count);
}

std::string receive_steps(const HostTeam& team, int rank) {
  const std::span<const Step> steps = team.buffers[rank]->steps;
  Receiver receiver(team, rank);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (is_collective(step.kind)) {
      if (!all_have(team, i, step)) return "the ranks' collectives differ";
      run_collective(team, rank, i, step);
    } else if ((step.kind == StepKind::receive || step.kind == StepKind::receive_rows) &&
               !receiver.receive(step)) {
      return "rank " + std::to_string(step.peer) + " does not send the " +
             std::to_string(step.count) + " elements that are expected of it";
    }
  }
  return {};
}

}  // namespace tilepost
