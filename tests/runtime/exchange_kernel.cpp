#include "tests/runtime/exchange_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/runtime/rank_meeting.h"

namespace ranks {

using fakes::MapOf;

namespace {

constexpr int kUnitRows = 8;
constexpr int kLineBytes = 16;

// Rows [first, end) of a tile, which belong to one CTA. Every rank cuts its tiles into the same
// parts and numbers them alike.
struct Part {
  int number;
  tilepost_tile_t tile;
  int first, end;
};

class Exchange : private Meeting {
 public:
  Exchange(const Program& program, void** arguments)
      : Meeting(static_cast<const tilepost_view_t*>(arguments[5])->exchange),
        plan_(program.plan),
        shape_(*static_cast<const tilepost_shape_t*>(arguments[3])),
        view_(*static_cast<const tilepost_view_t*>(arguments[5])) {
    const int ctas = plan_.map.signals_per_tile, units = plan_.map.tile_m / kUnitRows;
    for (int i = 0; i < view_.num_tiles; ++i)
      for (int cta = 0; cta < ctas; ++cta)
        parts_.push_back({i * ctas + cta, view_.tiles[i], cta * units / ctas * kUnitRows,
                          (cta + 1) * units / ctas * kUnitRows});
  }

  // Returns false if the run was given up.
  bool run() {
    if (lines()) renew_lines();
    begin();
    if (!follow()) return false;
    for (const Part& part : parts_) {
      linger();
      lines() ? store_lines(part) : store_boxes(part);
    }
    if (!meet()) return false;
    if (!(normalises() ? exchange_rows() : exchange_parts())) return false;
    end();
    return true;
  }
  using Meeting::end_given_up;

 private:
  bool lines() const { return plan_.shots == TILEPOST_ONE_SHOT_LINES; }

  bool twice() const { return plan_.shots == TILEPOST_TWO_SHOT; }
  bool normalises() const { return exchange_.norm.weight != nullptr; }

  bool exchange_parts() {
    for (const Part& part : parts_) {
      linger();
      if (!(lines() ? add_lines(part) : add_boxes(part))) return false;
    }
    for (const Part& part : parts_)
      if (twice() && !move(part)) return false;
    return true;
  }

  // ---- Who gets a row

  bool scatters() const { return plan_.pattern != TILEPOST_GEMM_ALL_REDUCE; }
  bool sums() const { return plan_.pattern != TILEPOST_GEMM_ALL_TO_ALL; }
  int first_of(int rank) const { return scatters() ? rank * exchange_.share_rows : 0; }
  int end_of(int rank) const {
    return scatters() ? std::min(first_of(rank) + exchange_.share_rows, exchange_.rows)
                      : exchange_.rows;
  }
  // Whether `rank` gets any of the rows [first, end) of the tile.
  bool gets(int rank, const Part& part, int first, int end) const {
    if (!scatters()) return true;
    const int from = std::max(part.tile.m + first, first_of(rank));
    return from < std::min(part.tile.m + end, end_of(rank));
  }
  // The row of this rank's output that holds `row` of the product as `source` computed it.
  int64_t row_of_out(int row, int source) const {
    const int first = first_of(exchange_.rank), rows = end_of(exchange_.rank) - first;
    return row - first + (sums() ? 0 : int64_t{source} * rows);
  }
  // Writes an element of this rank's output: the sum of `of(source)` over all ranks, or in an
  // All-to-All each rank's value.
  template <class Of>
  void put(int row, int column, Of of) const {
    float sum = 0;
    for (int source = 0; source < exchange_.ranks; ++source) {
      sum = of(source) + (sums() ? sum : 0);
      fakes::bf16::write(exchange_.out, row_of_out(row, source) * shape_.n + column, sum);
    }
  }

  char* slot(int where, int source) const {
    return exchange_.memory[where] + exchange_.slots +
           exchange_.slot_bytes * ((run_ & 1) * exchange_.ranks + source);
  }

  // ---- Flags behind the data

  bool await_part(int shot, const Part& part) {
    for (int rank = 0; rank < exchange_.ranks; ++rank)
      if (!await(flag(exchange_.rank, shot, part.number, rank), run_, exchange_.arrived_wait,
                 [&](uint32_t value) { return value == run_; }))
        return false;
    return true;
  }

  float value(const Part& part, int row, int64_t column) const {
    const int64_t of_out = part.tile.m + row;
    return of_out < shape_.m ? product(self().run, exchange_.rank, of_out, column) : 0;
  }

  // Stores as TMA does: elements behind the end of the map are dropped. A box never begins in front
  // of the map.
  void store_box(const Part& part, int first, int rows, int where, int64_t to_row) const {
    if (to_row < 0) std::abort();
    MapOf map;
    std::memcpy(&map,
                static_cast<const char*>(exchange_.slot_maps) +
                    ((run_ & 1) * exchange_.ranks + where) * 128,
                sizeof map);
    for (int row = 0; row < rows; ++row)
      for (int column = part.tile.n; column < part.tile.n + plan_.map.tile_n; ++column) {
        const auto at = static_cast<uint64_t>(to_row + row);
        if (at < map.rows && static_cast<uint64_t>(column) < map.columns)
          fakes::bf16::write(map.base, static_cast<int64_t>(at * map.columns) + column,
                             value(part, first + row, column));
      }
  }

  void store_boxes(const Part& part) const {
    const int rows = plan_.kernel.box_c.rows;
    for (int first = part.first; first < part.end; first += rows) {
      const int box = (part.tile.m + first) / rows;
      if (plan_.shots == TILEPOST_TWO_SHOT)
        store_box(part, first, rows, box % exchange_.ranks, box / exchange_.ranks * rows);
      for (int rank = 0; plan_.shots == TILEPOST_ONE_SHOT && rank < exchange_.ranks; ++rank)
        if (gets(rank, part, first, first + rows))
          store_box(part, first, rows, rank,
                    part.tile.m + first - first_of(rank) + (scatters() ? rows : 0));
    }
    for (int rank = 0; rank < exchange_.ranks; ++rank)
      if (gets(rank, part, part.first, part.end))
        store(flag(rank, 0, part.number, exchange_.rank), run_);
  }

  bool adds(int row) const {
    return plan_.shots != TILEPOST_TWO_SHOT ||
           row / plan_.kernel.box_c.rows % exchange_.ranks == exchange_.rank;
  }
  int64_t slot_row(int row) const {
    const int rows = plan_.kernel.box_c.rows;
    if (scatters()) return row - first_of(exchange_.rank) + rows;
    if (plan_.shots != TILEPOST_TWO_SHOT) return row;
    return int64_t{row / rows / exchange_.ranks} * rows + row % rows;
  }

  // Calls body with the row and column in the product of every element of the part that this rank
  // gets.
  template <class Body>
  void for_elements(const Part& part, Body body) const {
    const int first = first_of(exchange_.rank), end = end_of(exchange_.rank);
    for (int row = std::max(first, part.tile.m + part.first);
         row < std::min(end, part.tile.m + part.end); ++row)
      for (int column = part.tile.n; column < part.tile.n + plan_.map.tile_n; ++column)
        if (column < shape_.n) body(row, column);
  }

  bool add_boxes(const Part& part) {
    if (!gets(exchange_.rank, part, part.first, part.end)) return true;
    if (!await_part(0, part)) return false;
    for_elements(part, [&](int row, int column) {
      if (!adds(row)) return;
      const auto of = [&](int source) {
        return fakes::bf16::read(slot(exchange_.rank, source), slot_row(row) * shape_.n + column);
      };
      const int64_t at = int64_t{row} * shape_.n + column;
      if (normalises()) return land(at, of);
      put(row, column, of);
      for (int rank = 0; plan_.shots == TILEPOST_TWO_SHOT && rank < exchange_.ranks; ++rank)
        if (rank != exchange_.rank)
          fakes::bf16::write(exchange_.there[rank], at, fakes::bf16::read(exchange_.out, at));
    });
    for (int rank = 0; plan_.shots == TILEPOST_TWO_SHOT && rank < exchange_.ranks; ++rank)
      store(flag(rank, 1, part.number, exchange_.rank), run_);
    return true;
  }

  // Stores the sum of an element where sums land on every rank, this rank too. The norm reads the
  // sums there.
  template <class Of>
  void land(int64_t at, Of of) const {
    float sum = 0;
    for (int source = 0; source < exchange_.ranks; ++source) sum += of(source);
    for (int rank = 0; rank < exchange_.ranks; ++rank)
      fakes::bf16::write(exchange_.there[rank], at, sum);
  }

  // Copies sums of the other ranks to the output, unless they have landed there already.
  bool move(const Part& part) {
    if (!await_part(1, part)) return false;
    const void* const landed = exchange_.there[exchange_.rank];
    if (landed == exchange_.out) return true;
    for_elements(part, [&](int row, int column) {
      const int64_t at = int64_t{row} * shape_.n + column;
      if (!adds(row)) fakes::bf16::write(exchange_.out, at, fakes::bf16::read(landed, at));
    });
    return true;
  }

  // ---- Lines

  // The line with `element` among those that `source` stores on rank `where`. The first line that
  // has an element of that rank's rows comes first.
  char* line_at(int where, int source, const Part& part, int element) const {
    const int before = std::max(0, first_of(where) - part.tile.m - part.first) * plan_.map.tile_n;
    const int line = element / TILEPOST_LINE_ELEMENTS - before / TILEPOST_LINE_ELEMENTS;
    if (line < 0 || line >= exchange_.lines) std::abort();
    return slot(where, source) + (int64_t{part.number} * exchange_.lines + line) * kLineBytes;
  }
  static uint32_t* run_of(char* line) { return reinterpret_cast<uint32_t*>(line) + 3; }

  // Renews one line of each source among those of runs of the other parity.
  void renew_lines() const {
    const auto lines = static_cast<uint32_t>(exchange_.slot_bytes / kLineBytes);
    for (int source = 0; source < exchange_.ranks; ++source)
      store(run_of(exchange_.memory[exchange_.rank] + exchange_.slots +
                   exchange_.slot_bytes * ((run_ + 1) % 2 * exchange_.ranks + source) +
                   int64_t{run_ / 2 % lines} * kLineBytes),
            run_ - 1);
  }

  int elements(const Part& part) const {
    const auto end = std::min<int64_t>(part.tile.m + part.end, shape_.m);
    return std::max(0, static_cast<int>(end) - part.tile.m - part.first) * plan_.map.tile_n;
  }
  // The row of an element in the tile, and below its column in the output.
  int row_of(const Part& part, int element) const {
    return part.first + element / plan_.map.tile_n;
  }
  int column_of(const Part& part, int element) const {
    return part.tile.n + element % plan_.map.tile_n;
  }

  void store_lines(const Part& part) const {
    for (int first = 0; first < elements(part); first += TILEPOST_LINE_ELEMENTS)
      for (int rank = 0; rank < exchange_.ranks; ++rank) {
        const int last = first + TILEPOST_LINE_ELEMENTS - 1;
        if (!gets(rank, part, row_of(part, first), row_of(part, last) + 1)) continue;
        char* const to = line_at(rank, exchange_.rank, part, first);
        for (int i = 0; i < TILEPOST_LINE_ELEMENTS; ++i)
          fakes::bf16::write(to, i,
                             value(part, row_of(part, first + i), column_of(part, first + i)));
        store(run_of(to), run_);
      }
  }

  // The value of `source` for an element whose line has come.
  float of_line(const Part& part, int element, int source) const {
    return fakes::bf16::read(line_at(exchange_.rank, source, part, element),
                             element % TILEPOST_LINE_ELEMENTS);
  }
  bool await_line(const Part& part, int element) {
    for (int source = 0; source < exchange_.ranks; ++source)
      if (!await(run_of(line_at(exchange_.rank, source, part, element)), run_,
                 exchange_.arrived_wait, [&](uint32_t value) { return value == run_; }))
        return false;
    return true;
  }

  bool add_lines(const Part& part) {
    for (int element = 0; element < elements(part); ++element) {
      const int row = row_of(part, element);
      if (!gets(exchange_.rank, part, row, row + 1)) continue;
      if (!await_line(part, element)) return false;
      if (column_of(part, element) < shape_.n)
        put(part.tile.m + row, column_of(part, element),
            [&](int source) { return of_line(part, element, source); });
    }
    return true;
  }

  // ---- Whole rows, which are normalised

  // Waits for the part of a row, and adds the values of that row to `sums`. In two shots these are
  // sums already.
  bool take_row(const Part& part, int row, std::vector<float>& sums) {
    const int owner = row / plan_.kernel.box_c.rows % exchange_.ranks;
    if (!lines() && !twice() && !await_part(0, part)) return false;
    if (twice() && !await(flag(exchange_.rank, 1, part.number, owner), run_, exchange_.arrived_wait,
                          [&](uint32_t value) { return value == run_; }))
      return false;
    const int end = std::min(part.tile.n + plan_.map.tile_n, shape_.n);
    for (int column = part.tile.n; column < end; ++column) {
      const int element =
          (row - part.tile.m - part.first) * plan_.map.tile_n + column - part.tile.n;
      if (lines() && !await_line(part, element)) return false;
      if (twice())
        sums[column] =
            fakes::bf16::read(exchange_.there[exchange_.rank], int64_t{row} * shape_.n + column);
      for (int source = 0; !twice() && source < exchange_.ranks; ++source)
        sums[column] += lines() ? of_line(part, element, source)
                                : fakes::bf16::read(slot(exchange_.rank, source),
                                                    slot_row(row) * shape_.n + column);
    }
    return true;
  }

  void normalise(int row, std::vector<float> y) const {
    const tilepost_norm_t& norm = exchange_.norm;
    const int64_t first = int64_t{row} * shape_.n;
    float squares = 0;
    for (int i = 0; i < shape_.n; ++i) {
      if (norm.residual != nullptr) y[i] += fakes::bf16::read(norm.residual, first + i);
      if (norm.residual != nullptr) fakes::bf16::write(norm.residual, first + i, y[i]);
      squares += y[i] * y[i];
    }
    const float scale = 1 / std::sqrt(squares / static_cast<float>(shape_.n) + norm.epsilon);
    for (int i = 0; i < shape_.n; ++i)
      fakes::bf16::write(exchange_.out, first + i,
                         y[i] * scale * fakes::bf16::read(norm.weight, i));
  }

  bool exchange_rows() {
    for (const Part& part : parts_) {
      linger();
      if (twice() && !add_boxes(part)) return false;
    }
    const int begin = first_of(exchange_.rank), end = end_of(exchange_.rank);
    for (int row = begin; row < end; ++row) {
      std::vector<float> sums(shape_.n, 0);
      for (const Part& part : parts_) {
        const bool has = part.tile.m + part.first <= row && row < part.tile.m + part.end;
        if (has && !take_row(part, row, sums)) return false;
      }
      normalise(row - begin, std::move(sums));
    }
    return true;
  }

  const tilepost_plan_t& plan_;
  const tilepost_shape_t shape_;
  const tilepost_view_t view_;
  std::vector<Part> parts_;
};

}  // namespace

void use_exchange(Program& program, tilepost_shots_t shots, int ranks, int64_t m, int ctas,
                  tilepost_pattern_t pattern) {
  tilepost_plan_t& plan = program.plan;
  plan.transport = TILEPOST_TRANSPORT_PEER_TILES;
  plan.access = TILEPOST_ACCESS_TILES;
  plan.shots = shots;
  plan.pushes = shots == TILEPOST_TWO_SHOT ? 1 : 0;
  plan.k = 8;
  plan.comm_lanes = 1;
  plan.comm_ctas = 0;
  plan.map.m = m;
  plan.map.n = 24;
  plan.map.tile_m = 16;
  plan.map.tile_n = 8;
  plan.map.cluster = 1;
  plan.map.signals_per_tile = ctas;
  plan.kernel.cluster = ctas;
  plan.kernel.early = 1;
  plan.kernel.box_c.rows = shots == TILEPOST_TWO_SHOT ? kUnitRows : plan.map.tile_m / ctas;
  if (pattern != TILEPOST_GEMM_ALL_REDUCE)
    plan.kernel.box_c.rows = kUnitRows;  // shares end in them
  program.use(pattern, ranks, TILEPOST_DIVISION_ROWS, {static_cast<int32_t>((m + 15) / 16)});
}

fakes::Hang run_exchange(const Program& program, void** arguments) {
  if (tilepost::row_of(program.plan).moves_input()) return run_exchange_of_rows(program, arguments);
  Exchange exchange(program, arguments);
  return exchange.run() ? fakes::Hang{} : exchange.end_given_up();
}

}  // namespace ranks
