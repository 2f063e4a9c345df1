// The path of a run's data: which memory the kernel reads and stores into, how ranks reach each
// other, what waits for what, and where results lie. Only this file derives the path from the plan.
// Code that allocates memory, moves data or explains plans reads the path here.
#ifndef TILEPOST_RUN_PATH_H
#define TILEPOST_RUN_PATH_H

#include <optional>

#include "runtime/map/patterns.h"
#include "tilepost/plan.h"

namespace tilepost {

// Where rows of the product lie on their way to the caller. RunSizes (run_map.h) has the sizes of
// these places.
enum class Buffer {
  out,       // the caller's output
  send,      // memory of this rank, into which its kernel stores
  owners,    // slots or landed memory of the rank that owns the rows (slots.h)
  received,  // memory of this rank, into which steps bring rows
  landed,    // memory of this rank, into which other ranks store rows of its output
};

// How memory is allocated.
enum class Memory {
  own,     // memory that only this rank reaches
  shared,  // memory that other ranks read or write
  window,  // memory that NCCL knows as a symmetric window
};

// Where the kernel reads rows of A.
enum class InputFrom {
  a,         // all rows from the caller's `a`
  gathered,  // all rows from the memory in which all ranks' rows come together
  split,     // this rank's own rows from the caller's `a`, all others from that memory
};

// What a group of tiles and the communication wait for.
enum class Waits {
  steps,     // the steps of a group wait for the group's tiles
  tiles,     // inside the kernel, the tiles of a group wait for the rows of A that steps bring
  launches,  // the kernel is launched for each group, behind the steps that bring its rows of A
  kernel,    // the kernel waits for all steps of the run
};

// What a rank stores into the memory of the ranks that need it: rows of A, or rows of the output
// that need no more work. The other ranks copy the rest out of this rank's memory, or get it as
// messages.
enum class Pushes { nothing, rows, results };

struct RunPath {
  bool overlaps;             // whether steps are carried out while the kernel runs
  tilepost_access_t access;  // how ranks reach each other in this run; messages if the run does not
                             // overlap

  // ---- What the kernel does
  InputFrom reads;
  // Whether rows of `a` are first sorted by the rank that they go to (routing rows). Steps and the
  // kernel then read the sorted copy.
  bool sorts_a;
  // Whether the kernel begins and ends the run (tilepost_plan_t::whole_run). Such a kernel finds
  // out by itself that the other ranks' kernels have begun. No kernel before or behind it does so.
  bool whole_run;
  // Whether kernels exchange tiles of the product, or rows of A, in parts (TILEPOST_ACCESS_TILES).
  // Such a run is a whole run.
  bool exchanges_parts;
  bool lists_tiles;  // whether a list of tile rows is made of the run's tokens before the kernel
                     // (tilepost_token_tile_t)
  // Whether what makes that list also stores this rank's tokens in the memory of all other ranks.
  bool pushes_tokens;
  // Whether the kernel stores rows of experts in memory of this rank (`products`), from which
  // another kernel makes the tiles of the map: sums of tokens' rows. What is said below of where
  // the kernel stores tiles, and of its counters, holds of that other kernel.
  bool combines;
  // Whether that other kernel also adds up the ranks' sums: it stores its sums of other ranks'
  // tokens in their slots, and raises flags there in place of counters (sum_parts.h).
  bool sums_at_home;
  bool normalises;  // whether the kernel normalises the rows that it has summed, in place of a
                    // consumer
  Buffer stores;    // where the kernel stores tiles: out, send or owners
  // Whether the kernel looks up where to store a tile by the rank that owns the tile's rows. All
  // runs of the plan have that kernel. In a run that does not overlap, every entry of its table is
  // memory of this rank.
  bool stores_by_owner;
  bool has_tasks;  // whether helper warps of the kernel carry out steps
                   // (tilepost_plan_t::task_parts)
  // Whether the kernel's epilogue does all that crosses ranks (tilepost_plan_t::fused). If rows are
  // summed, it adds the other ranks' parts to this rank's own tiles. It stores the finished tiles
  // in `results`.
  bool is_fused;
  // Whether the kernel, or one that lists or sums tokens, carries out all steps, so that none is
  // left to streams. A consumer or a copy may still follow the kernel (below). The host target
  // takes steps all the same.
  bool kernel_does_all;

  // ---- What the steps do
  Waits waits;
  Buffer results;  // where the rows lie that steps have brought or summed: out, received or landed.
                   // Where steps bring nothing, or sum in place, `results` is the same as `stores`
  Pushes pushes;

  // ---- What comes behind the steps: a consumer that reads `results`, or a copy of `results` to
  // out. A kernel that has done the consumer's work needs neither.
  bool consumes;
  bool copies_out() const { return !consumes && results != Buffer::out; }

  // ---- What memory the run uses
  Memory exchanged;         // the memory of `send`, and that in which rows of A come together
  Memory receives_in;       // the memory of `received`; a window has room for whole shares
  bool gathers_for_caller;  // whether rows of A come together in the caller's memory, if the run
                            // has such memory
  bool lends_out;           // whether landed memory may be the run's out, so that nothing is copied

  // The number of places in which rows of A come together. Runs of a kernel that meets the other
  // ranks' kernels alternate between two places, because such a run may begin before all ranks have
  // read the rows of the run before it.
  int places_of_rows() const { return whole_run ? 2 : 1; }

  // Whether ranks read or write each other's memory.
  bool shares_memory() const { return access != TILEPOST_ACCESS_MESSAGES; }
  // Whether the kernel stores into memory of an operation, this rank's or an owner's, and not into
  // out.
  bool stores_apart() const { return stores != Buffer::out; }
  // Whether results lie in received or landed memory, from where a consumer or a copy takes them to
  // out.
  bool receives_apart() const { return results == Buffer::received || results == Buffer::landed; }
  // Whether rows of A arrive group by group, while the kernel multiplies those of earlier groups.
  bool input_arrives() const { return waits == Waits::tiles || waits == Waits::launches; }
  // Whether the run begins on the communication stream, beside the kernel. Until the run has begun,
  // other ranks may still use the shared memory for the run before. The kernel of such a run uses
  // none of that memory before its rows have arrived, so it need not wait.
  bool begins_on_comm_stream() const {
    return input_arrives() && reads == InputFrom::split && !has_tasks && !exchanges_parts &&
           !pushes_tokens;
  }
  // Whether the kernel waits for other ranks' tiles, sums or rows while it holds its SMs.
  bool waits_on_sms() const { return kernel_does_all || waits == Waits::tiles; }
  // Whether a kernel beside the GEMM waits until helper warps of all CTAs have done tasks. If so,
  // no CTA of the GEMM may wait for an SM until others have ended.
  bool waits_for_tasks() const { return has_tasks && !kernel_does_all; }
  // Whether the memory in which all ranks' rows come together lacks this rank's own rows, or most
  // of them.
  bool leaves_own_rows() const { return begins_on_comm_stream() || pushes_tokens; }
  // Whether helper warps push, or the kernel that lists tile rows of tokens. If not, copies or the
  // epilogue push.
  bool warps_push() const { return kernel_does_all && !is_fused && pushes != Pushes::nothing; }
  // Whether rows that other ranks have pushed to this rank's landed memory belong into `out`. They
  // are copied there, unless the run's `out` is landed memory or a registered output.
  bool copies_landed() const {
    return is_fused && pushes == Pushes::results && results == Buffer::out;
  }
};

// The path of the plan's runs that overlap, or of those that do not. The plan need not have runs of
// that kind.
RunPath path_of(const tilepost_plan_t& plan, bool overlaps);

// The kinds of run that a plan has.
struct RunPaths {
  RunPath planned;                  // runs with the plan's own m
  std::optional<RunPath> sequence;  // runs with fewer rows (rows_vary), for which overlap does not
                                    // pay; they do not overlap
  RunPath overlapping;              // runs that overlap, even if the plan has none

  // Whether the plan has runs that overlap (`overlaps`), or runs that do not (not `overlaps`).
  bool has(bool overlaps) const { return overlaps == planned.overlaps || (!overlaps && sequence); }
  // Whether `is` holds for the planned runs or for the runs that do not overlap.
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

// Whether kernels that exchange tiles normalise the rows that they add up. Rows that are quantised
// are normalised behind the kernel, by the pass that quantises them.
constexpr bool kernels_normalise(const tilepost_plan_t& plan) {
  return normalises(plan) && plan.quantised == 0;
}

// Whether `out` keeps the order of the plan's tiles, because no consumer puts them into rows. Tiles
// then lie in slots, or where columns divide them, in slabs of whole rows. Another plan with other
// tiles has its output in other places.
constexpr bool keeps_tiles(const tilepost_plan_t& plan) {
  return plan.map.layout == TILEPOST_TILE && plan.consumer == TILEPOST_CONSUMER_NONE;
}

// Whether the kernel stores tiles in slots.
constexpr bool has_slots(const tilepost_plan_t& plan) {
  return plan.map.layout == TILEPOST_TILE && plan.map.division == TILEPOST_DIVISION_ROWS;
}

// Whether `out` stays in slots, as gemm and gemm_all_reduce may leave it. The caller then needs a
// table of which slot has which tile. Slabs need no table: their places follow from the tiles.
constexpr bool keeps_slots(const tilepost_plan_t& plan) {
  return has_slots(plan) && keeps_tiles(plan);
}

// Whether the kernel itself adds up or moves what ranks have stored, by its helper warps or in its
// epilogue.
constexpr bool moves_inside(const tilepost_plan_t& plan) {
  return plan.task_parts > 0 || plan.fused != 0;
}

// Whether `fused` and the turns of the plan's tiles fit its other fields. A plan that is not fused
// has neither turns nor lag. In a fused plan the kernel begins and ends the runs, and there are no
// tasks. The tiles are one group, staggered, in turns of whole clusters. Where rows are summed,
// ranks store their parts by tensor maps side by side in the memory of the rank that adds them up.
// That rank pushes the sums if all ranks get them. Where rows are not summed, the kernel pushes
// tiles.
bool fuses_as_it_may(const tilepost_plan_t& plan);

// Whether the epilogue of a fused plan stores finished rows in other ranks' outputs. Finished rows
// are sums that all ranks get, or rows that are not summed.
constexpr bool pushes_when_fused(const PatternRow& row) {
  return row.product_spreads() || !row.sums;
}

// How many CTAs of a GEMM with clusters of `cluster` CTAs may have no SM while a kernel beside it
// waits for tasks of all of them (RunPath::waits_for_tasks). That kernel has one CTA, which may
// come before the GEMM's. The SMs of a cluster lie in one GPC, so that CTA may take the place of a
// whole cluster.
constexpr int kept_out_by_waiter(int cluster) {
  return cluster;
}

// How ranks reach each other's memory with this transport, on every target.
constexpr tilepost_access_t access_of(tilepost_transport_t transport) {
  if (transport == TILEPOST_TRANSPORT_COPY_ENGINE) return TILEPOST_ACCESS_READ;
  if (transport == TILEPOST_TRANSPORT_PEER_TILES) return TILEPOST_ACCESS_TILES;
  return transport == TILEPOST_TRANSPORT_PEER ? TILEPOST_ACCESS_WRITE : TILEPOST_ACCESS_MESSAGES;
}

}  // namespace tilepost

#endif  // TILEPOST_RUN_PATH_H
