#include "runtime/host/consumer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tilepost/numeric.h"

namespace tilepost {
namespace {

// Element offset of row `row` in tile column `column`.
int64_t place_in_slots(const RunMap& run, int64_t row, int64_t column) {
  const tilepost_map_t& map = run.map();
  const int32_t position = run.tiles.positions[row / map.tile_m * tiles_n(map) + column];
  return (run.tiles.tiles[position].row + row % map.tile_m) * map.tile_n;
}

// By source, then by tile column, then by row.
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
  static_assert(sizeof(T) == sizeof(uint16_t));
  const Norm<T> norm(consumer);
  const size_t n = static_cast<size_t>(consumer.run.map().n);
  std::vector<uint16_t> bits(n);
  std::vector<T> x(n);
  for (int64_t row = 0; row < rows; ++row) {
    load_row(consumer, row, bits.data());
    std::memcpy(x.data(), bits.data(), n * sizeof(T));
    norm.row(row, x.data());
  }
}

}  // namespace

void load_row(const HostConsumer& consumer, int64_t row, uint16_t* to) {
  const tilepost_map_t& map = consumer.run.map();
  const auto* data = static_cast<const uint16_t*>(consumer.data);
  for (int64_t column = 0; column < tiles_n(map); ++column) {
    const int64_t first = column * map.tile_n;
    const int64_t width = std::min<int64_t>(map.tile_n, map.n - first);
    std::memcpy(to + first, data + place(consumer, row, column), width * sizeof(uint16_t));
  }
}

void consume(const HostConsumer& consumer) {
  const int64_t n = consumer.run.map().n, rows = consumer.run.sizes.out / n;
  switch (consumer.plan.consumer) {
    case TILEPOST_CONSUMER_NONE:
      break;
    case TILEPOST_CONSUMER_UNPERMUTE:
      for (int64_t row = 0; row < rows; ++row)
        load_row(consumer, row, static_cast<uint16_t*>(consumer.out) + row * n);
      break;
    case TILEPOST_CONSUMER_RMS_NORM:
    case TILEPOST_CONSUMER_RESIDUAL_RMS_NORM:
      if (consumer.plan.output == TILEPOST_BF16)
        norm_rows<Bf16>(consumer, rows);
      else
        norm_rows<F16>(consumer, rows);
      break;
  }
}

}  // namespace tilepost
