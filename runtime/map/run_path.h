// Where the data of a run goes, said once for a kind of run: what allocates, what moves and what
// explains reads it here.
#ifndef TILEPOST_RUN_PATH_H
#define TILEPOST_RUN_PATH_H

#include <optional>

#include "runtime/map/patterns.h"
#include "tilepost/plan.h"

namespace tilepost {

// Where rows of the product lie on their way. Sizes: RunSizes (run_map.h).
enum class Buffer {
  out,       // the caller's
  send,      // this rank's, as its kernel stores them
  owners,    // slots or landed memory of the rank that owns them (slots.h)
  received,  // this rank's, as steps bring them
  landed,    // this rank's, where other ranks store rows of its output
};

// What memory is allocated as.
enum class Memory {
  own,     // for this rank alone
  shared,  // for other ranks to read or write
  window,  // for NCCL to know as a symmetric window
};

// Where the kernel reads rows of A.
enum class InputFrom {
  a,         // all of them from the caller's a
  gathered,  // all of them from where all ranks' rows come together
  split,     // this rank's own from the caller's a, the others' from where they come together
};

// What waits for what, group by group.
enum class Waits {
  steps,     // the steps of a group for its tiles
  tiles,     // the tiles of a group for its rows of A, which steps bring, inside the kernel
  launches,  // the same, but the kernel is launched for each group, behind its steps
  kernel,    // the kernel for all steps
};

// What the rank that has it stores where other ranks want it.
enum class Pushes { nothing, rows, sums };

struct RunPath {
  bool overlaps;             // steps go on beside the kernel
  tilepost_access_t access;  // between ranks, in this run

  // The kernel.
  InputFrom reads;
  bool packs;       // before all else, rows of a are sorted by the rank they go to (routing rows);
                    // steps and kernel read them there
  bool meets;       // the kernel meets those of the other ranks by itself: it begins and ends the
                    // run
  bool exchanges;   // and exchanges tiles, or rows of A, with them
  bool normalises;  // it does the work of a consumer that normalises, on rows that it has summed
  Buffer stores;    // out, send, owners
  bool by_owner;    // it looks up where to store by the owner of a tile's rows, in all runs of the
                    // plan; in one that does not overlap this rank owns them all
  bool tasks;       // its helper warps carry out steps
  bool fuses;      // it adds other ranks' tiles in the epilogue of this rank's own, which it stores
                   // where results lie
  bool completes;  // and nothing is left to do when it ends: the run ends there

  // The steps.
  Waits waits;
  Buffer results;  // where what they have brought or summed lies: out, received, landed; or what
                   // `stores` says, of which there is nothing to bring, or which is summed in place
  Pushes pushes;

  // What comes behind the steps: a consumer that reads `results`, if the kernel has not done its
  // work, or a copy to out.
  bool consumes;
  bool copies_out() const { return !consumes && results != Buffer::out; }

  // Memory.
  Memory exchanged;         // `send`, and where rows of A come together
  Memory receives_in;       // `received`: windows have room for whole shares
  bool gathers_for_caller;  // rows of A come together in the caller's memory, if it brings some
  bool lends_out;  // landed memory may be given as the run's out, where then nothing is copied

  // In how many places rows of A come together, at which runs take turns.
  int places_of_rows() const { return meets ? 2 : 1; }

  // Whether ranks touch each other's memory.
  bool shares_memory() const { return access != TILEPOST_ACCESS_MESSAGES; }
  // Whether the kernel stores into memory of the operations, this rank's or an owner's.
  bool stores_apart() const { return stores != Buffer::out; }
  // Whether steps receive into memory of the operation, for a consumer to read or to be copied.
  bool receives_apart() const { return results == Buffer::received || results == Buffer::landed; }
  // Whether rows of A come beside the kernel, group by group.
  bool arrives() const { return waits == Waits::tiles || waits == Waits::launches; }
  // Whether the run begins beside the kernel: that touches nothing before its rows have come which
  // other ranks may still use, or use already.
  bool begins_beside() const {
    return arrives() && reads == InputFrom::split && !tasks && !exchanges;
  }
  // Whether the kernel waits for other ranks while it holds its SMs: for tiles, sums or rows.
  bool holds_sms() const { return completes || waits == Waits::tiles; }
  // Whether helper warps push; if not, copies do, or the epilogue.
  bool tasks_push() const { return completes && !fuses && pushes != Pushes::nothing; }
  // Whether sums that the others have pushed here are copied to an `out` in which they do not land.
  bool moves_landed() const { return fuses && pushes == Pushes::sums && results == Buffer::out; }
};

// Of a run of the plan that overlaps, or of one that does not. The plan need not have such runs.
RunPath path_of(const tilepost_plan_t& plan, bool overlaps);

// The kinds of run that a plan has.
struct RunPaths {
  RunPath planned;                  // of the plan's own m
  std::optional<RunPath> sequence;  // of fewer rows, where overlap does not pay: rows_vary

  // Whether some runs overlap, or do not.
  bool has(bool overlaps) const { return overlaps == planned.overlaps || (!overlaps && sequence); }
  // Whether that is so of any run.
  bool any(bool (RunPath::*is)() const) const {
    return (planned.*is)() || (sequence && ((*sequence).*is)());
  }
};
RunPaths paths_of(const tilepost_plan_t& plan);

// Whether the plan's consumer normalises rows.
constexpr bool normalises(const tilepost_plan_t& plan) {
  return plan.consumer == TILEPOST_CONSUMER_RMS_NORM ||
         plan.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
}

// Whether the kernel itself adds up, or moves, what ranks store: its helper warps, or its epilogue.
constexpr bool moves_inside(const tilepost_plan_t& plan) {
  return plan.task_parts > 0 || plan.fused_sum != 0;
}

// Whether what a plan says of fused sums, and of turns, goes with the rest of it: kernels of whole
// runs without tasks store parts side by side with the rank that adds them up, and read them
// there, by tensor maps, and push what all ranks get; tiles come in one group, in turns of whole
// clusters.
bool fuses_as_it_may(const tilepost_plan_t& plan);

// Who touches whose memory with such a transport, on every target.
constexpr tilepost_access_t access_of(tilepost_transport_t transport) {
  if (transport == TILEPOST_TRANSPORT_COPY_ENGINE) return TILEPOST_ACCESS_READ;
  if (transport == TILEPOST_TRANSPORT_PEER_TILES) return TILEPOST_ACCESS_TILES;
  return transport == TILEPOST_TRANSPORT_PEER ? TILEPOST_ACCESS_WRITE : TILEPOST_ACCESS_MESSAGES;
}

}  // namespace tilepost

#endif  // TILEPOST_RUN_PATH_H
