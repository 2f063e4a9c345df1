// An operation's schedules by number of rows, bounded in bytes. A new schedule replaces those that
// were used longest ago. The cache serves every target.
#ifndef TILEPOST_SCHEDULE_CACHE_H
#define TILEPOST_SCHEDULE_CACHE_H

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

namespace tilepost {

// The bound if tilepost_options_t::schedule_bytes is 0.
constexpr int64_t kScheduleBytes = int64_t{64} << 20;

// A schedule is moved into the cache. Its address stays the same until the schedule is replaced.
// Calls must come one at a time.
template <class Schedule>
class ScheduleCache {
 public:
  // `most_bytes`: the bound on all schedules together. A schedule that is larger is kept alone.
  explicit ScheduleCache(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // The schedule of runs with m rows, or null if there is none. It becomes the schedule that was
  // used last.
  Schedule* find(int64_t m) {
    const auto found = by_m_.find(m);
    if (found == by_m_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->schedule;
  }

  // Makes room for `bytes`, then adds the schedule of m rows, which becomes the one that was used
  // last. The cache must have no schedule of m rows yet. Schedules for which `must_stay` holds are
  // not removed, even if the bound is exceeded. A caller that adds such schedules checks bytes()
  // first.
  template <class MustStay>
  Schedule& add(int64_t m, Schedule schedule, int64_t bytes, MustStay must_stay) {
    make_room(bytes, must_stay);
    entries_.push_front({m, bytes, std::move(schedule)});
    try {
      by_m_.emplace(m, entries_.begin());
    } catch (...) {
      entries_.pop_front();
      throw;
    }
    bytes_ += bytes;
    return entries_.front().schedule;
  }
  Schedule& add(int64_t m, Schedule schedule, int64_t bytes) {
    return add(m, std::move(schedule), bytes, [](const Schedule&) { return false; });
  }

  int64_t bytes() const { return bytes_; }
  int64_t most_bytes() const { return most_bytes_; }
  std::size_t size() const { return entries_.size(); }

  template <class Use>
  void for_each(Use use) {
    for (Entry& entry : entries_) use(entry.schedule);
  }

 private:
  struct Entry {
    int64_t m;
    int64_t bytes;
    Schedule schedule;
  };
  using Entries = std::list<Entry>;

  template <class MustStay>
  void make_room(int64_t bytes, MustStay must_stay) {
    for (auto entry = entries_.end(); entry != entries_.begin() && bytes_ > most_bytes_ - bytes;) {
      --entry;
      if (must_stay(std::as_const(entry->schedule))) continue;
      bytes_ -= entry->bytes;
      by_m_.erase(entry->m);
      entry = entries_.erase(entry);
    }
  }

  const int64_t most_bytes_;
  int64_t bytes_ = 0;
  Entries entries_;  // in the order of use; the first was used last
  std::unordered_map<int64_t, typename Entries::iterator> by_m_;
};

}  // namespace tilepost

#endif  // TILEPOST_SCHEDULE_CACHE_H
