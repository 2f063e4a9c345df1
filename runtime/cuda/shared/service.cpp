#include "runtime/cuda/shared/service.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <ranges>
#include <thread>

#include "runtime/core/plan_hash.h"
#include "runtime/cuda/shared/tasks.h"
#include "runtime/cuda/watch/epoch.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kPoll{100};

// How many counters and parts memory has room for at least, if several operations share it. Most
// plans have fewer.
constexpr int kSharedCounters = 256;
constexpr int kSharedParts = 4096;

// Whether a run relies on slots being zero, as its operation's last run has left them.
bool keeps_zeros(const tilepost_plan_t& plan) {
  return path_of(plan, true).stores_by_owner && plan.sum == TILEPOST_SUM_ADDED;
}

// Whether a run needs slots that hold only lines of earlier runs of its operation. The run reads
// the word of a line that has the number of the line's run, even before the line has come.
bool keeps_lines(const tilepost_plan_t& plan) {
  return plan.shots == TILEPOST_ONE_SHOT_LINES;
}

bool may_share(const tilepost_plan_t& plan) {
  return path_of(plan, true).shares_memory() && !keeps_zeros(plan) && !keeps_lines(plan);
}

// The least room of memory that operations of all `plans` are to share. It has room for the
// counters of other plans too.
struct Room {
  int counters = kSharedCounters, parts = kSharedParts;
  int64_t front = 0, pushed = 0;

  explicit Room(const PlanRanges& plans) {
    for (const tilepost_plan_t* plan : plans) {
      if (!may_share(*plan)) continue;
      counters = std::max(counters, shared_counters(*plan));
      parts = std::max(parts, exchanged_parts(*plan));
    }
    for (const tilepost_plan_t* plan : plans) {
      if (!may_share(*plan)) continue;
      const SharedLayout layout = layout_of(*plan);
      front = std::max(front, layout.pushed);
      pushed = std::max(pushed, layout.bytes - layout.pushed);
    }
  }

  SharedLayout layout_of(const tilepost_plan_t& plan) const {
    return shared_layout(plan, most_sizes(plan), counters, parts);
  }
};

// How many counters are read while a run is late: those for which the kernel's tasks wait.
int watched_counters(const tilepost_plan_t& plan) {
  const RunPath path = path_of(plan, true);
  const bool counters = path.kernel_does_all && !path.exchanges_parts && !path.sums_at_home;
  return counters ? shared_counters(plan) : 0;
}

}  // namespace

SharedService::SharedService(const tilepost_plan_t& plan, int64_t operation)
    : plan_(plan),
      path_(path_of(plan, true)),
      plan_word_(word_of_plan(hash_plan(plan), static_cast<uint64_t>(operation))) {}

SharedService::~SharedService() {
  if (!closed_) close(true);
}

ArenaNeed SharedService::need_of(const tilepost_plan_t& plan, bool share, const PlanRanges& plans) {
  if (!share || !may_share(plan)) return {shared_layout(plan, most_sizes(plan)), false};
  const Room room(plans);
  ArenaNeed need{room.layout_of(plan), true};
  need.layout.pushed = room.front;
  need.layout.bytes = room.front + room.pushed;
  return need;
}

void SharedService::add_needs(const tilepost_plan_t& plan, tilepost_memory_t& memory) {
  memory.pinned_bytes +=
      CounterAccess::bytes_of(plan.ranks) + CounterAccess::bytes_of(watched_counters(plan));
}

void SharedService::add_memory(tilepost_memory_t& memory) const {
  memory.pinned_bytes += begun_.pinned_bytes() + access_.pinned_bytes();
  if (made_arena_) arena_->add_memory(memory);
}

tilepost_result_t SharedService::create(const SharedRanks& ranks, SharedArenas& arenas, bool share,
                                        const PlanRanges& plans) {
  const ArenaNeed need = need_of(plan_, share, plans);
  shares_ = need.shares;
  const SharedLayout layout =
      shares_ ? Room(plans).layout_of(plan_) : shared_layout(plan_, most_sizes(plan_));
  TILEPOST_TRY(find_arena(ranks, arenas, need, arena_, made_arena_));
  if (path_.access == TILEPOST_ACCESS_WRITE && arena_->loses_additions() >= 0)
    return fail(TILEPOST_UNSUPPORTED,
                "what other ranks' kernels add to counters in rank %d's memory is lost: these GPUs "
                "have no atomic operations on each other's memory; use 'transport: copy_engine' or "
                "'transport: nccl'",
                arena_->loses_additions());
  regions_ = {arena_->memory(), arena_->place(layout)};
  touched_ = true;
  flags_ = arena_->flags();
  TILEPOST_TRY(begun_.create(flags_.ranks));
  if (path_.whole_run) arena_->expect_meetings();
  if (const int counters = watched_counters(plan_); counters > 0) return access_.create(counters);
  if (!path_.exchanges_parts && path_.has_tasks) flags_.done = arena_->done();
  return TILEPOST_OK;
}

void SharedService::report_to(WatchPage* page, double deadline_seconds) {
  deadline_seconds_ = deadline_seconds;
  flags_.page = page;
  flags_.deadline_ns = static_cast<uint64_t>(deadline_seconds * 1e9);
}

tilepost_result_t SharedService::begin(const RunBeginning& beginning, cudaStream_t stream) {
  TILEPOST_CUDA(launch_shared_begin(flags_, beginning, stream));
  return TILEPOST_OK;
}

tilepost_result_t SharedService::end(bool captured, cudaStream_t stream) {
  TILEPOST_CUDA(launch_shared_end(flags_, captured, stream));
  return TILEPOST_OK;
}

tilepost_result_t SharedService::begin_warm_up(cudaStream_t stream) {
  if (shares_) {
    RunOrder::Member nobody;
    TILEPOST_TRY(arena_->order().follow(nobody, {stream, 0, true}));
  }
  return begin({nullptr, 0, {0, 0, plan_word_, 0}}, stream);
}

tilepost_result_t SharedService::end_warm_up(cudaStream_t stream) {
  ended_on_ = stream;
  return end(false, stream);
}

// Tasks that copy the caller's rows get their addresses from the run.
tilepost_tasks_t SharedService::tasks() const {
  tilepost_tasks_t tasks{};
  tasks.in = regions_.own(0);
  tasks.stride = regions_.layout().slot_bytes;
  if (plan_.row_gap > 0) {
    tasks.row_bytes = static_cast<int32_t>(plan_.map.n * element_bytes(plan_.output));
    tasks.row_gap = static_cast<int32_t>(plan_.row_gap * element_bytes(plan_.output));
  }
  tasks.stored = own_counters();
  tasks.expected = flags_.expected;  // unless the kernel counts runs itself
  // Own rows that tiles read together with other ranks' rows raise the same counters as those rows.
  const bool with_others = path_.warps_push() && path_.pushes == Pushes::rows;
  tasks.done = with_others ? own_counters() : flags_.done;
  tasks.abort = &flags_.page->abort;
  tasks.rank = flags_.rank;
  tasks.ranks = flags_.ranks;
  return tasks;
}

// The expected values of the run that has begun are in the half of `expected` whose values are
// larger, because they grow from run to run. Groups that the run does not have are complete.
std::optional<OpenWait> SharedService::find_missing_tiles() {
  if (path_.exchanges_parts || path_.is_fused || path_.sums_at_home)
    return {};  // waits inside these kernels report themselves
  const std::vector<uint32_t> stored = access_.read(own_counters());
  std::vector<uint32_t> expected = access_.read_words(flags_.expected);
  const std::vector<uint32_t> other = access_.read_words(flags_.expected + flags_.counters);
  for (size_t i = 0; i < std::min(expected.size(), other.size()); ++i)
    if (reached(other[i], expected[i])) expected[i] = other[i];
  const auto groups = static_cast<size_t>(plan_.map.num_groups);
  for (size_t i = 0; i < std::min(stored.size(), expected.size()); ++i)
    if (!reached(stored[i], expected[i]))
      return OpenWait{
          i < groups || path_.pushes == Pushes::rows ? Awaited::stored : Awaited::landed,
          false,
          static_cast<int>(i % groups),
          {},
          expected[i] - stored[i]};
  return {};
}

std::optional<std::vector<int>> SharedService::find_absent() {
  const std::vector<uint32_t> begun =
      begun_.read(flags_.of[flags_.rank] + begun_word(0, flags_.ranks));
  if (begun.empty()) return {};
  std::vector<int> absent;
  for (int rank = 0; rank < flags_.ranks; ++rank)
    if (!reached(begun[rank], begun[flags_.rank])) absent.push_back(rank);
  return absent;
}

void SharedService::leak() {
  access_.leak();
  begun_.leak();
}

// Where rows are routed each rank has its own m, and the hash of the schedule covers the counts of
// all ranks.
RunWords SharedService::words_of(const RunMap& run, uint32_t output) const {
  const int64_t m = is_routed(plan_) ? 0 : run.m;
  return {static_cast<uint32_t>(m), folded(run.schedule_hash), plan_word_, output};
}

// Words with the number of another run than their rank has begun are still on their way.
std::optional<RunDifference> SharedService::find_difference() {
  const std::vector<uint32_t> lines =
      begun_.read_lines(flags_.of[flags_.rank] + begun_word(0, flags_.ranks));
  if (lines.empty()) return {};
  const auto words_of_rank = [&](int rank, uint32_t run) -> std::optional<RunWords> {
    const uint32_t* line = lines.data() + static_cast<ptrdiff_t>(rank) * TILEPOST_COUNTER_STRIDE;
    const uint32_t* words = line + run_words_at(run);
    if (line[0] != run) return {};
    for (int i = 0; i < kRunWords; ++i)
      if (words[2 * i] != run) return {};
    return RunWords{words[1], words[3], words[5], words[7]};
  };
  const uint32_t run = lines[static_cast<size_t>(flags_.rank) * TILEPOST_COUNTER_STRIDE];
  const std::optional<RunWords> own = words_of_rank(flags_.rank, run);
  for (int rank = 0; own && rank < flags_.ranks; ++rank) {
    const std::optional<RunWords> theirs = words_of_rank(rank, run);
    if (theirs && !theirs->same_as(*own))
      return RunDifference{1, static_cast<uint32_t>(rank), *own, *theirs};
  }
  return {};
}

// `kind` distinguishes runs that are one kernel from the operation's other runs, because a kernel
// that is a whole run leaves nothing behind for which the next run has to wait.
void SharedService::set_exchange(tilepost_exchange_t& exchange) const {
  const SharedLayout& layout = regions_.layout();
  constexpr auto kWord = static_cast<int64_t>(sizeof(uint32_t));
  for (int rank = 0; rank < flags_.ranks; ++rank)
    exchange.memory[rank] = static_cast<char*>(regions_.of(rank, 0));
  exchange.begun = layout.flags + begun_word(0, flags_.ranks) * kWord;
  exchange.ended = layout.flags + ended_word(0, flags_.ranks) * kWord;
  exchange.arrived = layout.arrived;
  const bool gathers = row_of(plan_).moves_input();
  exchange.slots = gathers ? layout.gathered : layout.slots;
  exchange.slot_bytes = gathers ? layout.gathered_bytes : layout.slot_bytes;
  exchange.run = flags_.run;
  exchange.given_up = flags_.given_up;
  exchange.expected = flags_.expected;
  exchange.counters = flags_.counters;
  exchange.kind = plan_word_ | TILEPOST_EXCHANGES;
  exchange.rank = flags_.rank;
  exchange.ranks = flags_.ranks;
  exchange.most_parts = layout.parts;
  exchange.lines = static_cast<int32_t>(lines_of_part(plan_));
  if (gathers) exchange.row_units = units_of_row(plan_);
  exchange.deadline_ns = flags_.deadline_ns;
  WatchPage* const page = flags_.page;
  const auto words = [&](int wait) { return &page->shared[wait].state; };
  exchange.abort = &page->abort;
  exchange.begun_waits = words(begun_wait(0));
  exchange.ended_waits = words(ended_wait(0));
  exchange.arrived_wait = words(stored_wait(0));
  exchange.difference = &page->difference.found;
}

uint32_t* SharedService::own_counters() const {
  return flags_.of[flags_.rank] + counter_word(0, flags_.ranks);
}

// Whether this rank has announced the end of its last run, or need not. `last`: whether no other
// operation has runs in this memory. Runs of another operation may be under way.
bool SharedService::has_ended(bool last) const {
  const bool settles = last && (path_.whole_run || shares_);
  if (ended_on_ != nullptr && settles && launch_settle(flags_, ended_on_) != cudaSuccess)
    return false;
  return ended_on_ == nullptr ||
         wait_for_stream(ended_on_, deadline_seconds_, [] { return TILEPOST_OK; }) == TILEPOST_OK;
}

// A rank that has not ended its runs may still read this memory, or store into it. While other
// operations use the memory it is not freed, so the last of them waits for such ranks.
void SharedService::close(bool failed) {
  closed_ = true;
  if (!arena_ || (failed && !touched_)) return;
  const double seconds =
      deadline_seconds_ > 0 ? deadline_seconds_ : std::numeric_limits<double>::infinity();
  const bool last = arena_.use_count() == 1 && !arena_->is_abandoned();
  try {
    if (!failed && has_ended(last) && (!last || wait_until_all_ended(flags_, seconds))) return;
  } catch (const std::bad_alloc&) {  // then nothing can be read
  }
  arena_->abandon();
}

bool wait_until_all_ended(const SharedFlags& flags, double seconds) {
  const CaptureModeGuard relaxed;
  CounterAccess access;
  if (access.create(2 * flags.ranks) != TILEPOST_OK) return false;
  const uint32_t* ended = flags.of[flags.rank] + ended_word(0, flags.ranks);
  const auto begin = Clock::now();
  for (;;) {
    const std::vector<uint32_t> runs = access.read(ended);
    if (runs.empty()) return false;
    const auto has_ended = [&](int rank) {
      return runs[rank] == runs[flags.ranks + rank] && reached(runs[rank], runs[flags.rank]);
    };
    if (std::ranges::all_of(std::views::iota(0, flags.ranks), has_ended)) return true;
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (elapsed.count() > seconds) return false;
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace tilepost::cuda
