#include "runtime/cuda/shared/peer_tables.h"

#include <algorithm>

#include "runtime/cuda/device/tensor_maps.h"
#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/shared/tasks.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

// The rows of one owner as this rank stores them.
struct OwnedRows {
  void* out;
  int64_t rows;
  uint32_t* counters;
};

uint32_t* counters_of(const SharedRegions& shared, int rank) {
  const int64_t counters = shared.layout().flags +
                           counter_word(0, shared.ranks()) * static_cast<int64_t>(sizeof(uint32_t));
  return static_cast<uint32_t*>(shared.of(rank, counters));
}

// In slots a rank has a block of its own, unless what ranks store is added at once; what is only
// moved lies as its owner wants it.
OwnedRows rows_at(const tilepost_plan_t& plan, const RunMap& run, const SharedRegions& shared,
                  int owner) {
  const tilepost_map_t& map = run.map();
  const SharedLayout& layout = shared.layout();
  int64_t at = layout.slots;
  if (plan.pattern == TILEPOST_GEMM_ALL_TO_ALL)
    at = layout.landed + landed_row(map, shared.rank(), owner) * map.n * element_bytes(plan.output);
  else if (plan.sum == TILEPOST_SUM_STAGED)
    at += shared.rank() * layout.slot_bytes;
  return {shared.of(owner, at), rows_of_rank(map, owner), counters_of(shared, owner)};
}

// What tasks push goes to the same place on every rank.
void add_pushes(const tilepost_plan_t& plan, const SharedRegions& shared, PeerTables& tables) {
  const bool gathers = plan.pattern == TILEPOST_ALL_GATHER_GEMM;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    tables.there.push_back(
        shared.of(rank, gathers ? shared.layout().gathered : shared.layout().landed));
    if (gathers) tables.counters.push_back(counters_of(shared, rank));
  }
}

}  // namespace

tilepost_result_t make_peer_tables(const tilepost_plan_t& plan, const RunMap& run,
                                   const PeerPlaces& places, PeerTables& tables) {
  if (run.overlaps && plan.pushes != 0 && completes_out(plan, true))
    add_pushes(plan, *places.shared, tables);
  if (spreads_own_rows(plan, true)) {
    tables.in_map.resize(1);
    void* gathered = places.shared->own(places.shared->layout().gathered);
    return encode_input(*places.driver, plan, gathered, run.rows, tables.in_map.front());
  }
  if (plan.access != TILEPOST_ACCESS_WRITE) return TILEPOST_OK;
  for (int owner = 0; owner < plan.ranks; ++owner) {
    const OwnedRows rows =
        run.overlaps
            ? rows_at(plan, run, *places.shared, owner)
            : OwnedRows{places.send, run.tiles.send_elements / run.map().n, places.counters};
    CUtensorMap map{};
    // A map has at least a row; no tile is of an owner without rows.
    TILEPOST_TRY(
        encode_output(*places.driver, plan, rows.out, std::max<int64_t>(1, rows.rows), map));
    tables.out_maps.push_back(map);
    tables.counters.push_back(rows.counters);
    tables.out.push_back(rows.out);
  }
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
