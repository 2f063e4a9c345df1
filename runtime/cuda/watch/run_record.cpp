#include "runtime/cuda/watch/run_record.h"

namespace tilepost::cuda {

void RunLedger::create(const tilepost_plan_t& plan, bool arrivals, uint64_t& called) {
  const int most_groups = plan.map.num_groups;
  plan_ = &plan;
  called_ = &called;
  arrivals_ = arrivals;
  sums_.assign(most_groups, 0);
  for (RunRecord& record : eager_) {
    record.before.reserve(most_groups);
    record.targets.reserve(most_groups);
  }
}

void RunLedger::fill(const RunMap& map, uint32_t output, RunRecord& record) const {
  record.overlaps = map.overlaps;
  record.groups = map.num_groups();
  record.call = RunBoard::call_of(*plan_, map, output);
  record.targets.clear();
  // Tiles that are stored with their owner raise the owner's counters, which this ledger does not
  // have (runtime/cuda/shared/flags.h).
  const bool elsewhere = arrivals_ || map.path.whole_run || map.access() == TILEPOST_ACCESS_WRITE;
  for (const uint32_t target : map.targets) record.targets.push_back(elsewhere ? 0 : target);
}

// Fills the record of the next eager run. commit() counts the run.
const RunRecord& RunLedger::next(const RunMap& map, uint32_t output) {
  const std::lock_guard lock(mutex_);
  RunRecord& record = eager_[(runs_ + 1) % eager_.size()];
  fill(map, output, record);
  record.number = runs_ + 1;
  record.called = *called_ + 1;
  record.progress = progress_;
  // A run that does not overlap finds its input in place, so it waits for no new value.
  record.ready = ready_ + (map.overlaps ? 1 : 0);
  record.before.assign(sums_.begin(), sums_.begin() + record.groups);
  return record;
}

void RunLedger::commit() {
  const std::lock_guard lock(mutex_);
  ++runs_;
  ++*called_;
  const RunRecord& record = eager_[runs_ % eager_.size()];
  for (int g = 0; g < record.groups; ++g) sums_[g] += record.targets[g];
  if (record.overlaps) progress_ += static_cast<uint32_t>(record.groups);
  ready_ = record.ready;
}

const RunRecord& RunLedger::capture(const RunMap& map, uint32_t output, size_t which) {
  const std::lock_guard lock(mutex_);
  if (captured_.size() <= which) captured_.resize(which + 1);
  RunRecord& record = captured_[which];
  fill(map, output, record);
  record.number = record.called = 1;
  record.ready = map.overlaps ? 1 : 0;
  record.before.assign(record.groups, 0);
  return record;
}

RunRecord RunLedger::of_run(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return eager_[number % eager_.size()];
}

RunRecord RunLedger::of_captured(size_t which) const {
  const std::lock_guard lock(mutex_);
  return which < captured_.size() ? captured_[which] : RunRecord{};
}

std::vector<uint32_t> RunLedger::sums() const {
  const std::lock_guard lock(mutex_);
  return arrivals_ ? std::vector<uint32_t>(sums_.size(), ready_) : sums_;
}

uint64_t RunLedger::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

}  // namespace tilepost::cuda
