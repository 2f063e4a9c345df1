#include "runtime/host/consumer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/host/elements.h"

namespace tilepost {
namespace {

// The offset of row `row` in tile column `column`, in elements, if slots are in schedule order.
int64_t place_in_slots(const RunMap& run, int64_t row, int64_t column) {
  const tilepost_map_t& map = run.map();
  const int32_t position = run.tiles.positions[row / map.tile_m * tiles_n(map) + column];
  return (run.tiles.tiles[position].row + row % map.tile_m) * map.tile_n;
}

// The offset of row `row` in tile column `column`, in elements, if data lie by source, then by tile
// column, then by row.
int64_t place_from_sources(const RunMap& run, int rank, int64_t row, int64_t column) {
  const tilepost_map_t& map = run.map();
  int source = 0;
  while (row >= run.counts.before(source + 1, rank)) ++source;
  const int64_t first = run.counts.before(source, rank), rows = run.counts.sum(source, rank);
  return (first * tiles_n(map) + column * rows + (row - first)) * map.tile_n;
}

int64_t place(const HostConsumer& consumer, int64_t row, int64_t column) {
  const tilepost_map_t& map = consumer.run.map();
  if (map.layout == TILEPOST_PANEL) return row * map.n + column * map.tile_n;
  if (row_of(consumer.plan).out_is_share()) return (column * share_rows(map) + row) * map.tile_n;
  if (row_of(consumer.plan).routes())
    return place_from_sources(consumer.run, consumer.rank, row, column);
  return place_in_slots(consumer.run, row, column);
}

template <class T>
class Norm {
 public:
  explicit Norm(const HostConsumer& consumer) : consumer_(consumer), n_(consumer.run.map().n) {}

  void row(int64_t row, T* x) const {
    if (consumer_.norm_residual != nullptr)
      add_residual(static_cast<T*>(consumer_.norm_residual) + row * n_, x);
    float squares = 0;
    for (int64_t i = 0; i < n_; ++i) squares += to_float(x[i]) * to_float(x[i]);
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(n_) + consumer_.norm_epsilon);
    const T* weight = static_cast<const T*>(consumer_.norm_weight);
    T* out = static_cast<T*>(consumer_.out) + row * n_;
    for (int64_t i = 0; i < n_; ++i)
      out[i] = from_float<T>(to_float(x[i]) * scale * to_float(weight[i]));
  }

 private:
  void add_residual(T* residual, T* x) const {
    for (int64_t i = 0; i < n_; ++i)
      residual[i] = x[i] = from_float<T>(to_float(x[i]) + to_float(residual[i]));
  }

  const HostConsumer& consumer_;
  const int64_t n_;
};

template <class T>
void norm_rows(const HostConsumer& consumer, int64_t rows) {
  const Norm<T> norm(consumer);
  const size_t n = static_cast<size_t>(consumer.run.map().n);
  std::vector<T> x(n);
  for (int64_t row = 0; row < rows; ++row) {
    load_row(consumer, row, x.data());
    norm.row(row, x.data());
  }
}

}  // namespace

void load_row(const HostConsumer& consumer, int64_t row, void* to) {
  const tilepost_map_t& map = consumer.run.map();
  const int width = static_cast<int>(element_bytes(consumer.plan.output));
  for (int64_t column = 0; column < tiles_n(map); ++column) {
    const int64_t first = column * map.tile_n;
    const int64_t columns = std::min<int64_t>(map.tile_n, map.n - first);
    copy_elements(consumer.data, place(consumer, row, column), to, first, columns, width);
  }
}

void consume(const HostConsumer& consumer) {
  const int64_t n = consumer.run.map().n, rows = consumer.run.sizes.out / n;
  const int64_t row_bytes = n * element_bytes(consumer.plan.output);
  switch (consumer.plan.consumer) {
    case TILEPOST_CONSUMER_NONE:
      break;
    case TILEPOST_CONSUMER_UNPERMUTE:
      for (int64_t row = 0; row < rows; ++row)
        load_row(consumer, row, static_cast<char*>(consumer.out) + row * row_bytes);
      break;
    case TILEPOST_CONSUMER_RMS_NORM:
    case TILEPOST_CONSUMER_RESIDUAL_RMS_NORM:
      with_element(consumer.plan.output, [&]<class T>(T) { norm_rows<T>(consumer, rows); });
      break;
  }
}

}  // namespace tilepost
