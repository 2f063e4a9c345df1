#include "runtime/host/consumer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/host/elements.h"
#include "runtime/map/quantised.h"
#include "tilepost/host/block_scales.h"

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

// Writes rows of fp32 to out: rounded to T, or quantised.
template <class T>
class RowWriter {
 public:
  explicit RowWriter(const HostConsumer& consumer, int64_t rows)
      : consumer_(consumer),
        n_(consumer.run.map().n),
        steps_(scale_steps_of_out(consumer.plan, rows)) {}

  void write(int64_t row, const float* x) const {
    if (consumer_.plan.quantised != 0) return quantise_row(row, x);
    T* const out = static_cast<T*>(consumer_.out) + row * n_;
    for (int64_t i = 0; i < n_; ++i) out[i] = from_float<T>(x[i]);
  }

 private:
  void quantise_row(int64_t row, const float* x) const {
    E4m3* const out = static_cast<E4m3*>(consumer_.out) + row * n_;
    for (int64_t first = 0; first < n_; first += TILEPOST_SCALE_BLOCK) {
      const int64_t end = std::min<int64_t>(n_, first + TILEPOST_SCALE_BLOCK);
      const float scale = scale_of_block(x + first, static_cast<int>(end - first));
      for (int64_t i = first; i < end; ++i) out[i] = quantise(x[i], scale);
      consumer_.out_scales[row * steps_.row + first / TILEPOST_SCALE_BLOCK * steps_.block] = scale;
    }
  }

  const HostConsumer& consumer_;
  const int64_t n_;
  const ScaleSteps steps_;
};

template <class T>
class Norm {
 public:
  explicit Norm(const HostConsumer& consumer) : consumer_(consumer), n_(consumer.run.map().n) {}

  // Normalises the row `x` into `y`.
  void row(int64_t row, T* x, float* y) const {
    if (consumer_.norm_residual != nullptr)
      add_residual(static_cast<T*>(consumer_.norm_residual) + row * n_, x);
    float squares = 0;
    for (int64_t i = 0; i < n_; ++i) squares += to_float(x[i]) * to_float(x[i]);
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(n_) + consumer_.norm_epsilon);
    const T* weight = static_cast<const T*>(consumer_.norm_weight);
    for (int64_t i = 0; i < n_; ++i) y[i] = to_float(x[i]) * scale * to_float(weight[i]);
  }

 private:
  void add_residual(T* residual, T* x) const {
    for (int64_t i = 0; i < n_; ++i)
      residual[i] = x[i] = from_float<T>(to_float(x[i]) + to_float(residual[i]));
  }

  const HostConsumer& consumer_;
  const int64_t n_;
};

// Reads rows, normalises them if the consumer does, and writes them.
template <class T>
void write_rows(const HostConsumer& consumer, int64_t rows) {
  const Norm<T> norm(consumer);
  const RowWriter<T> writer(consumer, rows);
  const auto n = static_cast<size_t>(consumer.run.map().n);
  std::vector<T> x(n);
  std::vector<float> y(n);
  for (int64_t row = 0; row < rows; ++row) {
    load_row(consumer, row, x.data());
    if (normalises(consumer.plan))
      norm.row(row, x.data(), y.data());
    else
      std::transform(x.begin(), x.end(), y.begin(), [](T value) { return to_float(value); });
    writer.write(row, y.data());
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
    case TILEPOST_CONSUMER_QUANTISE:
      with_element(consumer.plan.output, [&]<class T>(T) { write_rows<T>(consumer, rows); });
      break;
  }
}

}  // namespace tilepost
