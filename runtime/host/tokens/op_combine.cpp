// Runs that sum the rows of tokens. When all workers have multiplied, they make the tiles of the
// map from the products, and store them where a kernel of another pattern would store tiles.
#include <algorithm>
#include <cmath>

#include "runtime/core/routing/routing.h"
#include "runtime/host/elements.h"
#include "runtime/host/op.h"
#include "runtime/schedule/token_sums.h"
#include "tilepost/mark.cuh"

namespace tilepost {
namespace {

// What the tiles of a run are made of, on one rank.
struct Sources {
  TokenSums sums;
  const void* products;  // [rows of experts, n]
  const void* residual;  // [share, n], or null
  int64_t n;
};

template <class T>
T sum_of(const Sources& sources, int row, int64_t column) {
  const TokenSums& sums = sources.sums;
  const TokenPlace place = sums.token_of(row);
  const long long entries = sums.entries_of(place);
  float sum = 0;
  for (int i = 0; entries >= 0 && i < sums.top && sums.token_rows[entries + i] >= 0; ++i) {
    const int64_t at = sums.token_rows[entries + i] * sources.n + column;
    sum = std::fma(sums.token_weights[entries + i],
                   to_float(static_cast<const T*>(sources.products)[at]), sum);
  }
  if (sources.residual != nullptr && place.rank == sums.rank)
    sum += to_float(static_cast<const T*>(sources.residual)[place.token * sources.n + column]);
  return from_float<T>(sum);
}

// Returns where row `row` of a tile goes, which is row tile.m + `row` of the map.
template <class T>
T* place_of_row(const tilepost_view_t& view, bool by_owner, void* out, const tilepost_tile_t& tile,
                int row, int64_t n) {
  if (!by_owner) return static_cast<T*>(out) + (int64_t{tile.row} + row) * n;
  const int owner = tile.m / view.share_rows;
  return static_cast<T*>(view.peer_out[owner]) +
         (int64_t{tile.m} + row - int64_t{owner} * view.share_rows) * n;
}

// Adds one to a group's counter, as kernels do for their tiles (tilepost/host/woven.h, post): a
// release operation.
void raise_counter(uint32_t& counter) {
  __atomic_fetch_add(&counter, 1u, __ATOMIC_RELEASE);
}

}  // namespace

// Waits until all workers have multiplied. Returns false if the communicator was aborted.
bool HostOp::wait_products(uint64_t run) {
  std::unique_lock lock(stream_.mutex);
  if (++multiplied_ % num_workers_ == 0) stream_.changed.notify_all();
  const uint64_t all = run * static_cast<uint64_t>(num_workers_);
  stream_.changed.wait(lock, [&] { return multiplied_ >= all || group_->aborted(); });
  return multiplied_ >= all;
}

void HostOp::combine(const Request& request, int worker, const tilepost_view_t& view) const {
  const RunMap& run = *request.run;
  tilepost_routing_info_t tables{};
  routing_->get_info(tables);
  const Sources sources{token_sums(plan_, run, rank_, tables, routing_->shape().most_tokens),
                        products_.data(), request.epilogue.residual, run.map().n};
  const bool by_owner = run.path.stores_by_owner;
  with_element(plan_.output, [&]<class T>(T) {
    for (int position = worker; position < view.num_tiles; position += num_workers_) {
      const tilepost_tile_t& tile = view.tiles[position];
      const Tile place{tile.m, tile.n, tile.row, tile.group};
      const int rows = place.is_padding() ? 0 : sources.sums.rows_of_tile(tile.m);
      const int64_t end = std::min<int64_t>(tile.n + int64_t{plan_.map.tile_n}, sources.n);
      for (int row = 0; row < rows; ++row) {
        T* const to = place_of_row<T>(view, by_owner, request.epilogue.out, tile, row, sources.n);
        for (int64_t column = tile.n; column < end; ++column)
          to[column] = sum_of<T>(sources, tile.m + row, column);
      }
      const int64_t counter = int64_t{tile.group} * TILEPOST_COUNTER_STRIDE;
      if (!by_owner)
        raise_counter(view.counters[counter]);
      else if (!place.is_padding())
        raise_counter(view.peer_counters[tile.m / view.share_rows][counter]);
    }
  });
}

}  // namespace tilepost
