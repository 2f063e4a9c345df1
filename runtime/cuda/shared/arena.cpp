#include "runtime/cuda/shared/arena.h"

#include <algorithm>
#include <array>

#include "runtime/cuda/shared/access_test.h"

namespace tilepost::cuda {
namespace {

// The number of runs from which a new arena counts. Tests on GPUs choose it so that the numbers
// soon reach 2^32 (tests/gpu/CMakeLists.txt).
#ifdef TILEPOST_TEST_FIRST_RUN
constexpr uint32_t kRunsBefore = TILEPOST_TEST_FIRST_RUN;
#else
constexpr uint32_t kRunsBefore = 0;
#endif

constexpr size_t kOffered = 8;  // the most arenas that a rank offers to the others
constexpr int64_t kNone = -1;

using Ids = std::array<int64_t, kOffered>;

// What a rank finds in its words: the number of lost additions, and the first rank whose store is
// missing, or -1.
struct AccessResult {
  int64_t lost = 0, missing = -1;
};

tilepost_result_t read_back(const AccessTest& test, cudaStream_t stream, AccessResult& result) {
  const auto words = static_cast<size_t>(1 + test.ranks);
  std::array<uint32_t, 1 + kMostPeers> found{};
  TILEPOST_CUDA(cudaMemcpyAsync(found.data(), test.of[test.rank], words * sizeof(uint32_t),
                                cudaMemcpyDeviceToHost, stream));
  TILEPOST_CUDA(cudaMemsetAsync(test.of[test.rank], 0, words * sizeof(uint32_t), stream));
  TILEPOST_CUDA(cudaStreamSynchronize(stream));
  result.lost = int64_t{added_by(test.ranks - 1)} - found[0];
  for (int rank = test.ranks - 1; rank >= 0; --rank)
    if (rank != test.rank && found[1 + rank] != stored_by(rank)) result.missing = rank;
  return TILEPOST_OK;
}

// The ids of this rank's arenas that have room. Ranks may have different arenas, because each rank
// destroys its operations when it likes.
Ids offered(const SharedArenas& arenas, const SharedLayout& layout) {
  Ids ids;
  ids.fill(kNone);
  size_t count = 0;
  for (const auto& kept : arenas) {
    const std::shared_ptr<SharedArena> arena = kept.lock();
    if (arena && count < kOffered && arena->has_room(layout)) ids[count++] = arena->id();
  }
  return ids;
}

// The first of rank 0's arenas that all ranks offer. `all`: every rank's Ids, one after the other.
int64_t common_id(std::span<const int64_t> all) {
  for (const int64_t id : all.first(kOffered)) {
    bool everywhere = id != kNone;
    for (size_t first = 0; everywhere && first < all.size(); first += kOffered)
      everywhere =
          std::ranges::find(all.subspan(first, kOffered), id) != all.subspan(first, kOffered).end();
    if (everywhere) return id;
  }
  return kNone;
}

tilepost_result_t agree(const SharedRanks& ranks, const SharedArenas& arenas,
                        const SharedLayout& layout, int64_t& id) {
  id = kNone;
  if (arenas.empty())
    return TILEPOST_OK;  // on all ranks alike, because making an arena is
                         // collective
  NumberExchange numbers(ranks.channel, ranks.ranks, ranks.seconds);
  TILEPOST_TRY(numbers.create(kOffered));
  const Ids own = offered(arenas, layout);
  std::vector<int64_t> all;
  TILEPOST_TRY(
      explain_absence(numbers.run(own, all), ranks.rank, "shared memory so far", ranks.seconds));
  id = common_id(all);
  return TILEPOST_OK;
}

size_t bytes_of_numbers(const SharedLayout& layout) {
  const auto counters = static_cast<size_t>(layout.counters);
  return (TILEPOST_COUNTER_STRIDE * (1 + counters) + 2 * counters) * sizeof(uint32_t);
}

}  // namespace

void SharedArena::add_needs(const SharedLayout& layout, tilepost_memory_t& memory) {
  const int64_t shared = SharedMemory::allocated_for(layout.bytes);
  memory.shared_bytes += shared;
  memory.device_bytes += shared + static_cast<int64_t>(bytes_of_numbers(layout));
}

void SharedArena::add_memory(tilepost_memory_t& memory) const {
  const int64_t shared = memory_.exists() ? SharedMemory::allocated_for(memory_.bytes()) : 0;
  memory.shared_bytes += shared;
  memory.device_bytes += shared + numbers_.bytes();
}

SharedArena::~SharedArena() {
  if (!abandoned_) return;
  memory_.leak();
  numbers_.leak();
}

tilepost_result_t SharedArena::create(const SharedRanks& ranks, const SharedLayout& layout) {
  layout_ = layout;
  TILEPOST_TRY(memory_.create(ranks.channel, ranks.rank, ranks.ranks, ranks.device, layout.bytes,
                              ranks.seconds));
  // From here on another rank may use the memory.
  tilepost_result_t made = make_numbers();
  if (made == TILEPOST_OK) made = try_out(ranks);
  if (made != TILEPOST_OK) abandon();
  return made;
}

// Tests the memory (access_test.h). It uses the second half of the region in which warming up moves
// bytes later. The first exchange comes after every rank's additions and stores. The second
// exchange spreads what the ranks have found. A rank's words are zero again before the rank takes
// part in the second exchange.
tilepost_result_t SharedArena::try_out(const SharedRanks& ranks) {
  constexpr int64_t kAt = SharedLayout::kRegionAlignment / 2;
  static_assert((1 + kMostPeers) * sizeof(uint32_t) <= SharedLayout::kRegionAlignment / 2);
  NumberExchange numbers(ranks.channel, ranks.ranks, ranks.seconds);
  TILEPOST_TRY(numbers.create(2));
  AccessTest test{};
  test.rank = ranks.rank;
  test.ranks = ranks.ranks;
  for (int rank = 0; rank < ranks.ranks; ++rank)
    test.of[rank] = static_cast<uint32_t*>(memory_.of(rank, layout_.warm_up + kAt));
  const auto tell = [&](const std::array<int64_t, 2>& own, std::vector<int64_t>& all) {
    return explain_absence(numbers.run(own, all), ranks.rank, "tries of memory", ranks.seconds);
  };
  TILEPOST_CUDA(launch_access_test(test, numbers.stream()));
  std::vector<int64_t> all;
  TILEPOST_TRY(tell({0, 0}, all));
  AccessResult own;
  TILEPOST_TRY(read_back(test, numbers.stream(), own));
  TILEPOST_TRY(tell({own.lost, own.missing}, all));
  for (int rank = 0; rank < ranks.ranks; ++rank) {
    const int64_t lost = all[2 * rank], missing = all[2 * rank + 1];
    if (missing >= 0)
      return fail(TILEPOST_UNSUPPORTED,
                  "what rank %d stores in rank %d's memory does not arrive there: their GPUs reach "
                  "each other's memory by name only; use 'transport: nccl'",
                  static_cast<int>(missing), rank);
    if (lost > 0 && loses_additions_ < 0) loses_additions_ = rank;
  }
  return TILEPOST_OK;
}

// Makes the numbers that only this rank uses: the number of the run, the counts of finished chunks
// of tasks, and the values that counters have to reach.
tilepost_result_t SharedArena::make_numbers() {
  const size_t bytes = bytes_of_numbers(layout_);
  TILEPOST_TRY(make_device_memory(numbers_, bytes));
  Stream stream;
  TILEPOST_TRY(make_stream(stream, true));
  TILEPOST_CUDA(cudaMemsetAsync(numbers_.get(), 0, bytes, stream.get()));
  TILEPOST_CUDA(cudaStreamSynchronize(stream.get()));
  return kRunsBefore == 0 ? TILEPOST_OK : start_late(kRunsBefore);
}

// For tests of the wrap at 2^32 (kRunsBefore): sets all numbers as if there had been `runs` runs.
// Numbers that are compared by size get what run `runs` would have left. Numbers that are compared
// for equality exist twice, for even and for odd runs. They get `runs` and `runs` - 1, each in the
// half of its parity. Counters begin at 2^32 - 7, so that they soon wrap.
tilepost_result_t SharedArena::start_late(uint32_t runs) {
  constexpr uint32_t kCount = 0u - 7;
  const int ranks = memory_.ranks();
  const auto put = [](void* to, const std::vector<uint32_t>& words) -> tilepost_result_t {
    TILEPOST_CUDA(
        cudaMemcpy(to, words.data(), words.size() * sizeof(uint32_t), cudaMemcpyHostToDevice));
    return TILEPOST_OK;
  };
  const auto by_parity = [&](int64_t bytes, int64_t half) {
    std::vector<uint32_t> words(static_cast<size_t>(bytes) / sizeof(uint32_t), runs);
    for (size_t i = 0; i < words.size(); ++i)
      words[i] -= (runs ^ (i < static_cast<size_t>(half) / sizeof(uint32_t) ? 0 : 1)) & 1;
    return words;
  };
  std::vector<uint32_t> flags(shared_flags_bytes(layout_.counters, ranks) / sizeof(uint32_t), 0);
  for (int64_t at = 0; at < begun_word(ranks, ranks); at += TILEPOST_COUNTER_STRIDE)
    flags[at] = at < ended_word(0, ranks) ? last_flag_value(runs) : runs;
  for (int i = 0; i < layout_.counters; ++i) flags[counter_word(i, ranks)] = kCount;
  TILEPOST_TRY(put(memory_.own(layout_.flags), flags));
  const SharedFlags numbers = this->flags();
  TILEPOST_TRY(put(numbers.run, {runs}));
  TILEPOST_TRY(put(numbers.expected, std::vector<uint32_t>(2 * layout_.counters, kCount)));
  if (layout_.parts == 0) return TILEPOST_OK;
  const int64_t arrived = exchange_flags_bytes(layout_.parts), half = ranks * layout_.slot_bytes;
  TILEPOST_TRY(put(memory_.own(layout_.arrived), by_parity(arrived, arrived / 2)));
  const int64_t slots = std::min(2 * half, layout_.bytes - layout_.slots);
  return put(memory_.own(layout_.slots), by_parity(slots, half));
}

bool SharedArena::has_room(const SharedLayout& layout) const {
  return !abandoned_ && fits(layout_, layout);
}

// Regions behind `pushed` must lie behind it for all operations (SharedLayout).
SharedLayout SharedArena::place(const SharedLayout& layout) const {
  SharedLayout placed = layout;
  if (layout.landed == layout.pushed) placed.landed = layout_.pushed;
  placed.pushed = layout_.pushed;
  placed.bytes = layout_.bytes;
  return placed;
}

SharedFlags SharedArena::flags() const {
  SharedFlags flags{};
  flags.rank = memory_.rank();
  flags.ranks = memory_.ranks();
  for (int rank = 0; rank < flags.ranks; ++rank)
    flags.of[rank] = static_cast<uint32_t*>(memory_.of(rank, layout_.flags));
  flags.run = static_cast<uint32_t*>(numbers_.get());
  flags.given_up = flags.run + kGivenUpWord;
  flags.kind = flags.run + kKindWord;  // behind it is the word that counts who has read the run's
                                       // number (tilepost_exchange_t::run)
  flags.half = flags.run + kHalfWord;
  flags.expected = done() + TILEPOST_COUNTER_STRIDE * layout_.counters;
  flags.counters = layout_.counters;
  flags.arrived = static_cast<uint32_t*>(memory_.own(layout_.arrived));
  flags.parts = layout_.parts;
  return flags;
}

uint32_t* SharedArena::done() const {
  return static_cast<uint32_t*>(numbers_.get()) + TILEPOST_COUNTER_STRIDE;
}

tilepost_result_t find_arena(const SharedRanks& ranks, SharedArenas& arenas, const ArenaNeed& need,
                             std::shared_ptr<SharedArena>& arena, bool& made) {
  int64_t id = kNone;
  if (need.shares) TILEPOST_TRY(agree(ranks, arenas, need.layout, id));
  made = id == kNone;
  if (!made) {
    arena = arenas[static_cast<size_t>(id)].lock();
    return TILEPOST_OK;
  }
  auto fresh = std::make_shared<SharedArena>(static_cast<int64_t>(arenas.size()));
  // The arena is listed even if making it fails, so that all ranks have the same number of arenas.
  if (need.shares) arenas.push_back(fresh);
  TILEPOST_TRY(fresh->create(ranks, need.layout));
  arena = std::move(fresh);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
