#include "runtime/host/group.h"

#include "tilepost/host/poll.h"

namespace tilepost {

std::string name_step(int rank, const HostStep& step) {
  std::string name = "rank " + std::to_string(rank) + ", " + name_of(step.terms);
  if (step.group == HostStep::kExchange) return name;
  if (step.group == HostStep::kBegin) return name + ", begin";
  if (step.group == HostStep::kEnd) return name + ", end";
  return name + ", group " + std::to_string(step.group);
}

HostGroup::HostGroup(int world) : world_(world), members_(world), brought_(world, nullptr) {}

bool HostGroup::wait_signal(int rank, const HostStep& step, const HostSignal& signal,
                            double seconds) {
  if (signal.reached()) return !aborted();
  const Deadline deadline(seconds);
  {
    const std::lock_guard lock(mutex_);
    members_[rank].signal = &signal;
  }
  // The kernel only adds to the counter and wakes no thread.
  for (Poll poll; !signal.reached() && !aborted() && !deadline.passed();) poll.pause();
  const std::lock_guard lock(mutex_);
  members_[rank].signal = nullptr;
  if (!signal.reached() && !aborted()) {
    const std::string text =
        name_step(rank, step) + ": the counter of group " + std::to_string(signal.group) +
        " stands at " + std::to_string(signal.count()) + ", target " +
        std::to_string(signal.target) + ", after " + deadline.text() + "; a tile was not signalled";
    abort_locked(TILEPOST_TIMEOUT, text);
  }
  return !aborted();
}

bool HostGroup::begin_collective(int rank, const HostStep& step, const void* brought,
                                 double seconds) {
  const Deadline deadline(seconds);
  std::unique_lock lock(mutex_);
  if (aborted()) return false;  // others may still read what this rank brought before
  brought_[rank] = brought;
  if (!meet(rank, step, deadline, lock) || aborted()) return false;
  inside_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool HostGroup::end_collective(int rank, const HostStep& step, double seconds) {
  const Deadline deadline(seconds);
  std::unique_lock lock(mutex_);
  leave_locked();
  return meet(rank, step, deadline, lock);
}

bool HostGroup::meet_again(int rank, const HostStep& step, double seconds) {
  const Deadline deadline(seconds);
  std::unique_lock lock(mutex_);
  return meet(rank, step, deadline, lock) && !aborted();
}

bool HostGroup::compare(int rank, const RunTerms& terms) {
  const std::lock_guard lock(mutex_);
  if (aborted()) return false;
  const std::pair run(terms.operation, terms.number);
  const auto [at, first] = said_.try_emplace(run, Said{terms, rank, 0});
  Said& said = at->second;
  if (const std::string differs = difference(rank, terms, said.rank, said.terms); !differs.empty())
    abort_locked(TILEPOST_INVALID_ARGUMENT, differs);
  if (++said.ranks == world_) said_.erase(at);
  return !aborted();
}

bool HostGroup::enter() {
  const std::lock_guard lock(mutex_);
  if (aborted()) return false;
  inside_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void HostGroup::leave() {
  const std::lock_guard lock(mutex_);
  leave_locked();
}

void HostGroup::leave_locked() {
  inside_.fetch_sub(1, std::memory_order_release);
  if (aborted()) wake_streams();  // destructors and synchronize wait for ended()
}

// Counts this rank as arrived and waits for the others. The caller holds mutex_.
bool HostGroup::meet(int rank, const HostStep& step, const Deadline& deadline,
                     std::unique_lock<std::mutex>& lock) {
  if (aborted()) return false;
  const uint64_t meeting = ++members_[rank].meetings;
  members_[rank].step = step;
  for (int other = 0; other < world_; ++other) {
    if (members_[other].meetings != meeting) continue;
    const HostStep& theirs = members_[other].step;
    const std::string differs = difference(rank, step.terms, other, theirs.terms);
    if (!differs.empty()) {
      abort_locked(TILEPOST_INVALID_ARGUMENT, differs);
      return false;
    }
    if (theirs.group == step.group) continue;
    abort_locked(TILEPOST_INTERNAL_ERROR,
                 name_step(rank, step) + ": met " + name_step(other, theirs));
    return false;
  }
  if (++arrived_ == world_) {
    arrived_ = 0;
    ++meetings_;
    changed_.notify_all();
    return true;
  }
  const auto complete = [&] { return meetings_ >= meeting; };
  if (!deadline.wait(changed_, lock, [&] { return complete() || aborted(); }))
    report_absent(rank, step, deadline);
  return complete();
}

// Aborts with a text that names the ranks missing from this rank's meeting. If some of them are
// known to wait for a counter, the text names the counter of the first one, which is nearest to the
// cause. The caller holds mutex_.
void HostGroup::report_absent(int rank, const HostStep& step, const Deadline& deadline) {
  std::string absent, detail;
  for (int other = 0; other < world_; ++other) {
    if (members_[other].meetings >= members_[rank].meetings) continue;
    absent += (absent.empty() ? "" : ", ") + std::to_string(other);
    const HostSignal* signal = members_[other].signal;
    if (signal != nullptr && detail.empty())
      detail = " (rank " + std::to_string(other) + " waits for the counter of group " +
               std::to_string(signal->group) + ": it stands at " + std::to_string(signal->count()) +
               ", target " + std::to_string(signal->target) + ")";
  }
  const bool one = absent.find(',') == std::string::npos;
  const std::string text = name_step(rank, step) + ": " + (one ? "rank " : "ranks ") + absent +
                           " did not arrive at the collective within " + deadline.text() + detail;
  abort_locked(TILEPOST_TIMEOUT, text);
}

void HostGroup::abort(tilepost_result_t result, const std::string& text) {
  const std::lock_guard lock(mutex_);
  abort_locked(result, text);
}

void HostGroup::abort_locked(tilepost_result_t result, const std::string& text) {
  if (aborted()) return;
  failure_ = result;
  text_ = text;
  aborted_.store(true, std::memory_order_release);
  changed_.notify_all();
  wake_streams();
}

void HostGroup::wake_streams() {
  for (Member& member : members_) {
    const std::lock_guard lock(member.stream.mutex);
    member.stream.changed.notify_all();
  }
}

}  // namespace tilepost
