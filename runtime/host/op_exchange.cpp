// Runs whose kernels exchange tiles, or rows of A, by themselves (TILEPOST_ACCESS_TILES;
// tilepost/host/exchange.h).
//
// This file does what the first CTA does besides its tiles on GPUs. On the host the communicating
// thread does it. The thread announces to all ranks which run this rank begins, and that the run
// before has ended. After a run of another kind it waits until all ranks have ended that run, and
// only then lets the workers start. While the workers compute, it meets the other ranks. No run
// ends before all ranks have begun it, so two buffers are enough
// (docs/internals/exchange-of-tiles.md).
#include <algorithm>

#include "runtime/core/plan_hash.h"
#include "runtime/host/op.h"
#include "tilepost/dtype.h"
#include "tilepost/host/poll.h"
#include "tilepost/internal/exchange_places.h"

namespace tilepost {
namespace {

constexpr int kSharedParts = 4096;  // parts in memory that operations share; most operations have
                                    // fewer

// A text such as "rank 1" or "ranks 1, 3".
std::string in_words(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (const int rank : ranks) text += (rank == ranks.front() ? "" : ", ") + std::to_string(rank);
  return text;
}

// Whether the plan's operation may share an arena. Only the number in a line distinguishes it from
// lines of earlier runs. So nothing else may be stored in the place of lines.
bool may_share(const tilepost_plan_t& plan) {
  return plan.shots != TILEPOST_ONE_SHOT_LINES;
}

// The room of an arena that is made for an operation and others to come.
ArenaNeed room_to_share(const tilepost_plan_t& plan) {
  ArenaNeed room = arena_need(plan);
  room.parts = std::max(room.parts, kSharedParts);
  return room;
}

}  // namespace

// Takes an arena for the operation. All ranks make their operations in the same order, and so
// choose the same arenas. Shared arenas stay as long as the communicator.
void HostOp::take_arena(bool share) {
  if (plan_.access != TILEPOST_ACCESS_TILES) return;
  if (!(share || family_->takes_turns()) || !may_share(plan_)) {
    arena_ = std::make_shared<HostArena>(plan_.ranks, arena_need(plan_));
    made_arena_ = true;
    return;
  }
  const std::lock_guard lock(stream_.mutex);
  auto& arenas = share ? stream_.arenas : family_->arenas;
  for (const std::shared_ptr<HostArena>& made : arenas)
    if (made->has_room(arena_need(plan_))) arena_ = made;
  if (arena_ != nullptr) return;
  arena_ = arenas.emplace_back(std::make_shared<HostArena>(plan_.ranks, room_to_share(plan_)));
  made_arena_ = true;
}

void HostArenaNeeds::add(const tilepost_plan_t& plan, tilepost_memory_t& memory) {
  if (plan.access != TILEPOST_ACCESS_TILES) return;
  ArenaNeed room = arena_need(plan);
  if (shares_ && may_share(plan)) {
    for (const std::shared_ptr<HostArena>& kept : arenas_)
      if (kept->has_room(room)) return;
    for (const ArenaNeed& made : made_)
      if (room.fits(made)) return;
    room = made_.emplace_back(room_to_share(plan));
  }
  const int64_t bytes = HostArena::bytes_of(plan.ranks, room);
  memory.shared_bytes += bytes;
  memory.device_bytes += bytes;
}

// Carries out a run. Here and below, false means that the communicator was aborted.
bool HostOp::exchange_tiles(uint64_t run, const Request& request) {
  if (others_arenas_.empty() && !meet_arenas(place_of(request, HostStep::kBegin))) return false;
  const HostStep place = place_of(request, HostStep::kExchange);
  const uint32_t number = arena_->run[kRunWord] + 1, last_kind = arena_->run[kKindWord];
  set_exchange(request);
  tell_begun(place.terms);
  if (last_kind != exchange_.kind && !await_ranks(place, exchange_.ended, number - 1, "ended"))
    return false;
  open(run);
  if (!await_ranks(place, exchange_.begun, number, "begun") || !compare_ranks(place) ||
      !wait_workers(run, request))
    return false;
  if (input_.scales.exist() && request.operands.gathered_scales != nullptr)
    copy_elements(arrived_scales(number), 0, request.operands.gathered_scales, 0,
                  input_.scales.of(request.run->rows * plan_.k), sizeof(float));
  arena_->run[kRunWord] = number;
  arena_->run[kKindWord] = exchange_.kind;
  return true;
}

// In an operation's first run the ranks exchange where their memory is. On GPUs they do so when the
// operation is made.
bool HostOp::meet_arenas(const HostStep& place) {
  own_arena_ = {arena_, landed_.data()};
  if (!group_->begin_collective(rank_, place, &own_arena_, deadline_seconds_)) return false;
  HostGroup::Visit visit(*group_);
  for (int rank = 0; rank < plan_.ranks; ++rank)
    others_arenas_.push_back(group_->brought<HostExchangeMemory>(rank));
  return visit.end_collective(rank_, place, deadline_seconds_);
}

// Sets the arguments of the kernel of the run. A slot has the rows that its rank gets in this run.
void HostOp::set_exchange(const Request& request) {
  const RunMap& map = *request.run;
  const bool gathers = row_of(plan_).moves_input();
  exchange_ = {};
  arena_->place(exchange_);
  const ArenaNeed need = arena_need(plan_);
  exchange_.slot_bytes = need.bytes / (gathers ? 2 : 2 * plan_.ranks);
  landed_of_.clear();
  slot_rows_.clear();
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    exchange_.memory[rank] = others_arenas_[rank].arena->memory();
    landed_of_.push_back(request.output != 0 ? request.there[rank] : others_arenas_[rank].landed);
  }
  const auto columns = static_cast<int>(plan_.map.n);
  for (int parity = 0; parity < 2 && !gathers; ++parity)
    for (int rank = 0; rank < plan_.ranks; ++rank)
      slot_rows_.push_back({exchange_.memory[rank] + exchange_.slots +
                                (parity * plan_.ranks + rank_) * exchange_.slot_bytes,
                            static_cast<int>(exchanged_rows(plan_, map.map(), rank)), columns,
                            columns});
  exchange_.slot_maps = slot_rows_.data();
  exchange_.there = landed_of_.data();
  exchange_.out = at(map.path.results, request);
  exchange_.own_rows = request.operands.a;
  exchange_.gathered = request.operands.gathered;
  exchange_.kind = word_of_plan(hash_plan(plan_), family_->operation) | TILEPOST_EXCHANGES;
  exchange_.rank = rank_;
  exchange_.ranks = plan_.ranks;
  exchange_.rows = map.shape.m;
  exchange_.share_rows = static_cast<int32_t>(share_rows(map.map()));
  exchange_.lines = static_cast<int32_t>(lines_of_part(plan_));
  if (gathers) {
    exchange_.row_units = units_of_row(plan_);
    exchange_.part_units = units_of_part(plan_, map.m);
  }
  exchange_.abort = &over_;
  exchange_.arrived_wait = &awaited_;
  __atomic_store_n(&awaited_, 0u, __ATOMIC_RELAXED);
}

// Where the scales of all rows of A arrive in run `number`; null where no scales move.
const float* HostOp::arrived_scales(uint32_t number) const {
  if (!input_.scales.exist()) return nullptr;
  return reinterpret_cast<const float*>(woven::rows_on(exchange_, rank_, number) +
                                        place_of_rows(plan_, plan_.map.m).scales);
}

// Announces to every rank that this rank has begun the run. If the last run exchanged tiles or
// rows, also announces that it has ended. Both are release operations. A rank that reads the number
// sees the terms of the run, and everything that the run before did on this rank.
void HostOp::tell_begun(const RunTerms& terms) {
  const uint32_t number = arena_->run[kRunWord] + 1;
  arena_->terms[number & 1] = terms;
  const bool exchanged = (arena_->run[kKindWord] & TILEPOST_EXCHANGES) != 0;
  auto* const flags = reinterpret_cast<uint32_t*>(arena_->memory() + exchange_.arrived);
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    __atomic_store_n(flag_to_renew(flags, exchange_.most_parts, number, rank), number - 1,
                     __ATOMIC_RELAXED);
    if (plan_.shots == TILEPOST_ONE_SHOT_LINES)
      __atomic_store_n(woven::line_to_renew(exchange_, number, rank), number - 1, __ATOMIC_RELAXED);
    if (exchanged)
      __atomic_store_n(exchange_line(exchange_, exchange_.ended, rank, rank_), number - 1,
                       __ATOMIC_RELEASE);
    __atomic_store_n(exchange_line(exchange_, exchange_.begun, rank, rank_), number,
                     __ATOMIC_RELEASE);
  }
}

// Waits until every rank has begun, or ended, run `number`. Numbers are compared by signed
// distance.
bool HostOp::await_ranks(const HostStep& place, int64_t lines, uint32_t number, const char* what) {
  const Deadline deadline(deadline_seconds_);
  for (Poll poll;; poll.pause()) {
    std::vector<int> absent;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const uint32_t* line = exchange_line(exchange_, lines, rank_, rank);
      if (static_cast<int32_t>(__atomic_load_n(line, __ATOMIC_ACQUIRE) - number) < 0)
        absent.push_back(rank);
    }
    if (absent.empty() || group_->aborted()) return !group_->aborted();
    if (deadline.passed()) {
      const std::string of = lines == exchange_.begun ? " the run" : " the run before";
      group_->abort(TILEPOST_TIMEOUT, name_step(rank_, place) + ": " + in_words(absent) +
                                          (absent.size() == 1 ? " has" : " have") + " not " + what +
                                          of + " within " + deadline.text());
      return false;
    }
  }
}

// Whether all ranks have begun the same run. Requires that all ranks have begun a run of this
// number.
bool HostOp::compare_ranks(const HostStep& place) {
  const uint32_t number = arena_->run[kRunWord] + 1;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const RunTerms& theirs = others_arenas_[rank].arena->terms[number & 1];
    const std::string differs = difference(rank_, place.terms, rank, theirs);
    if (differs.empty()) continue;
    group_->abort(TILEPOST_INVALID_ARGUMENT, differs);
    return false;
  }
  return true;
}

// A text for a run whose workers take too long. It names the rank whose tiles or rows of A they
// wait for, and is empty if they wait for none.
std::string HostOp::what_is_awaited() {
  const uint32_t source = __atomic_load_n(&awaited_, __ATOMIC_RELAXED);
  if (source == 0) return {};
  return (row_of(plan_).moves_input() ? "rows of rank " : "tiles of rank ") +
         std::to_string(source - 1) + " have not come";
}

}  // namespace tilepost
