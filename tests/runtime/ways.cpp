// Programs of the ways in which ranks exchange rows and sums (ranks.h, Way).
#include "runtime/map/steps.h"
#include "tests/runtime/ranks.h"
#include "tilepost/internal/task_chunks.h"

namespace ranks {

namespace {

// Ends of groups, in tile rows of a share, or in tile rows of the whole where `by_rows`.
std::vector<int32_t> cuts_of(const Way& way, bool by_rows, int tiles) {
  std::vector<int32_t> cuts;
  if (way.gathers()) cuts.push_back(0);
  if (way.is_fused) return {tiles};
  // A cut in tile rows of the whole has to be a multiple of the cluster.
  for (int cut = by_rows ? 2 : 1; cut < tiles; cut *= 2) cuts.push_back(cut);
  cuts.push_back(tiles);
  return cuts;
}

}  // namespace

void use(Program& program, const Way& way, int ranks, int64_t m, tilepost_routing_t routing) {
  tilepost_plan_t& plan = program.plan;
  const bool reads = way.access == TILEPOST_ACCESS_READ;
  const bool messages = way.access == TILEPOST_ACCESS_MESSAGES;
  const bool by_rows = (routing == TILEPOST_ROUTING_ROWS && !way.gathers()) ||
                       (messages && way.pattern == TILEPOST_GEMM_ALL_REDUCE);
  const bool routes_input = tilepost::row_of(way.pattern).input_is_routed();
  plan.transport = reads      ? TILEPOST_TRANSPORT_COPY_ENGINE
                   : messages ? TILEPOST_TRANSPORT_HOST_COPIES
                              : TILEPOST_TRANSPORT_PEER;
  plan.access = way.access;
  plan.sum = way.sum;
  plan.neighbours = way.neighbours ? 1 : 0;
  plan.whole_run = way.whole_run ? 1 : 0;
  const bool adds = way.tasks || way.is_fused;
  const bool finishes = way.is_fused && way.pattern == TILEPOST_GEMM_ALL_TO_ALL;
  const bool spreads = adds && way.pattern == TILEPOST_GEMM_ALL_REDUCE;
  plan.pushes = (way.gathers() && !messages) || spreads || finishes ? 1 : 0;
  plan.routing = routing;
  plan.k = 8;
  plan.comm_lanes = way.gathers() ? 1 : 2;
  plan.map.m = m;
  if (routes_input)
    plan.map.m = routing == TILEPOST_ROUTING_EVEN ? (m + ranks - 1) / ranks * ranks : ranks * m;
  plan.rows_sent = routes_input ? m : 0;
  plan.map.n = 24;
  plan.map.tile_m = 4;
  plan.map.tile_n = 8;
  plan.map.round_robin = way.gathers() && reads ? 1 : 0;
  plan.fused = way.is_fused ? 1 : 0;
  plan.map.stagger = plan.map.turn = way.is_fused ? 4 : 0;
  plan.map.lag = way.is_fused ? 1 : 0;
  const int share = static_cast<int>((plan.map.m + ranks - 1) / ranks);
  const int shares = plan.map.round_robin != 0 ? ranks - 1 : 1;
  const int tiles = by_rows ? static_cast<int>(m + 3) / 4 : (share + 3) / 4 * shares;
  program.use(way.pattern, ranks,
              way.gathers() ? TILEPOST_DIVISION_ARRIVALS
              : by_rows     ? TILEPOST_DIVISION_ROWS
                            : TILEPOST_DIVISION_SHARES,
              cuts_of(way, by_rows, tiles));
  if (!messages || way.pattern != TILEPOST_GEMM_ALL_REDUCE) plan.map.ranks = ranks;
  program.finish();
  plan.reads_own = way.gathers() && (way.tasks || way.beside) ? 1 : 0;
  plan.row_gap = way.is_fused && !finishes ? 8 : 0;
  plan.kernel.early = way.is_fused ? 1 : 0;
  if (!way.tasks) return;
  const bool sums = !way.gathers() && way.pattern != TILEPOST_GEMM_ALL_TO_ALL;
  plan.task_parts = sums ? ranks : 1;
  plan.row_gap = way.gathers() ? 0 : 8;
  plan.kernel.helper_bytes = 16512;
  plan.kernel.early = way.whole_run ? 1 : 0;
}

int helper_bytes_of(int units, int parts) {
  return tilepost::kTaskBarriers + tilepost::kTaskBuffers * parts * units * tilepost::kTaskUnit;
}

}  // namespace ranks
