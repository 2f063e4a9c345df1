// The stand-in for kernels that exchange rows of A. It works out row by row what the parts are,
// which of them a tile waits for, and which bring the scales of blocks.
#include <algorithm>
#include <cstring>

#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/rank_meeting.h"

namespace ranks {

using fakes::MapOf;

namespace {

constexpr int kUnitBytes = 16, kBlockBytes = 128;  // a block of e4m3 that has a scale

MapOf map_at(const void* maps, uint32_t which) {
  MapOf map;
  std::memcpy(&map, static_cast<const char*>(maps) + which * 128, sizeof map);
  return map;
}

class RowExchange : private Meeting {
 public:
  RowExchange(const Program& program, void** arguments)
      : Meeting(static_cast<const tilepost_view_t*>(arguments[5])->exchange),
        plan_(program.plan),
        view_(*static_cast<const tilepost_view_t*>(arguments[5])),
        own_(map_at(arguments[0], 0)),
        out_(map_at(arguments[2], 0)),
        shape_(*static_cast<const tilepost_shape_t*>(arguments[3])),
        share_((shape_.m + exchange_.ranks - 1) / exchange_.ranks),
        row_bytes_(exchange_.row_units * kUnitBytes),
        part_bytes_(exchange_.part_units * kUnitBytes),
        scale_a_(static_cast<const tilepost_epilogue_t*>(arguments[4])->scale_a),
        blocks_((row_bytes_ + kBlockBytes - 1) / kBlockBytes) {}

  // Returns false if the run was given up.
  bool run() {
    begin();
    if (!follow()) return false;
    store_own_rows();
    if (!meet()) return false;
    for (int i = 0; i < view_.num_tiles; ++i) {
      if (i % 5 == 0) linger();
      if (!compute(view_.tiles[i])) return false;
    }
    if (exchange_.gathered != nullptr && !hand_out()) return false;
    end();
    return true;
  }
  using Meeting::end_given_up;

 private:
  int64_t rows_of(int rank) const {
    return std::clamp<int64_t>(shape_.m - int64_t{rank} * share_, 0, share_);
  }
  char* arrived(int where) const {
    return exchange_.memory[where] + exchange_.slots + (run_ & 1) * exchange_.slot_bytes;
  }

  float* scales(int where) const {
    const char* const rows = exchange_.memory[exchange_.rank] + exchange_.slots;
    const int64_t behind = reinterpret_cast<const char*>(view_.in_scales) - rows;
    return reinterpret_cast<float*>(arrived(where) + behind);
  }

  // Stores on rank `where` the scales of the blocks that begin in these bytes of own rows.
  void store_scales(int where, int64_t first, int64_t end) const {
    if (plan_.scales == TILEPOST_SCALES_NONE) return;
    for (int64_t byte = first; byte < end; byte += kUnitBytes) {
      const int64_t row = int64_t{exchange_.rank} * share_ + byte / row_bytes_;
      const int64_t in_row = byte % row_bytes_, i = row * blocks_ + in_row / kBlockBytes;
      if (in_row % kBlockBytes == 0) scales(where)[i] = scale_a_[i];
    }
  }

  // Counts the wrong scales of a row, where the kernel finds them.
  void check_scales(int64_t row, bool own) const {
    if (plan_.scales == TILEPOST_SCALES_NONE) return;
    const float* const all = own ? scale_a_ : scales(exchange_.rank);
    for (int64_t block = 0; block < blocks_; ++block)
      if (all[row * blocks_ + block] != scale_of(row, block)) ++wrong_scales;
  }

  // Stores the last parts first, because only the flags may show which parts have come.
  void store_own_rows() const {
    const int64_t bytes = rows_of(exchange_.rank) * row_bytes_;
    const int64_t to = int64_t{exchange_.rank} * share_ * row_bytes_;
    for (int64_t part = (bytes + part_bytes_ - 1) / part_bytes_ - 1; part >= 0; --part) {
      linger();
      const int64_t first = part * part_bytes_, count = std::min(part_bytes_, bytes - first);
      for (int rank = 0; rank < exchange_.ranks; ++rank)
        std::memcpy(arrived(rank) + to + first,
                    static_cast<const char*>(exchange_.own_rows) + first, count);
      for (int rank = 0; rank < exchange_.ranks; ++rank) store_scales(rank, first, first + count);
      for (int rank = 0; rank < exchange_.ranks; ++rank)
        store(flag(rank, 0, static_cast<int>(part), exchange_.rank), run_);
    }
  }

  // Waits for all parts that contain some of the row.
  bool await_row(int64_t row) {
    const auto source = static_cast<int>(row / share_);
    const int64_t first = row % share_ * row_bytes_;
    for (int64_t part = first / part_bytes_; part * part_bytes_ < first + row_bytes_; ++part)
      if (!await(flag(exchange_.rank, 0, static_cast<int>(part), source), run_,
                 exchange_.arrived_wait, [&](uint32_t value) { return value == run_; }))
        return false;
    return true;
  }

  bool compute(const tilepost_tile_t& tile) {
    const bool own = tile.group == 0;
    const int64_t end = std::min<int64_t>(tile.m + plan_.map.tile_m, shape_.m);
    for (int64_t row = tile.m; !own && row < end; ++row)
      if (!await_row(row)) return false;
    for (int64_t row = tile.m; row < end; ++row) check_scales(row, own);
    const int64_t pairs = row_bytes_ / 2;  // elements of 16 bits, or pairs of 8 bits
    const MapOf in = own ? own_ : map_at(view_.in_map, run_ & 1);
    for (int64_t row = tile.m; row < end; ++row)
      for (int64_t column = tile.n; column < tile.n + plan_.map.tile_n; ++column)
        if (column < static_cast<int64_t>(out_.columns))
          fakes::bf16::write(out_.base, row * static_cast<int64_t>(out_.columns) + column,
                             row < static_cast<int64_t>(in.rows)
                                 ? fakes::bf16::read(in.base, row * pairs + column % pairs)
                                 : 0);
    return true;
  }

  // Copies all rows to the caller's `gathered`. The rank's own rows stay where they are if they are
  // there already.
  bool hand_out() {
    auto* const all = static_cast<char*>(exchange_.gathered);
    for (int64_t row = 0; row < shape_.m; ++row) {
      char* const to = all + row * row_bytes_;
      const bool own = row / share_ == exchange_.rank;
      if (own && to == static_cast<const char*>(exchange_.own_rows) + row % share_ * row_bytes_)
        continue;
      if (!await_row(row)) return false;
      std::memcpy(to, arrived(exchange_.rank) + row * row_bytes_, row_bytes_);
    }
    return true;
  }

  const tilepost_plan_t& plan_;
  const tilepost_view_t view_;
  const MapOf own_, out_;
  const tilepost_shape_t shape_;
  const int share_;
  const int64_t row_bytes_, part_bytes_;
  const float* const scale_a_;
  const int64_t blocks_;  // of a row
};

}  // namespace

void use_exchanged_rows(Program& program, int ranks, int64_t m) {
  tilepost_plan_t& plan = program.plan;
  plan.transport = TILEPOST_TRANSPORT_PEER_TILES;
  plan.access = TILEPOST_ACCESS_TILES;
  plan.shots = TILEPOST_ONE_SHOT;
  plan.pushes = 1;
  plan.k = 512;
  plan.comm_lanes = 1;
  plan.comm_ctas = 0;
  plan.map.m = m;
  plan.map.n = 24;
  plan.map.tile_m = 16;
  plan.map.tile_n = 8;
  plan.map.cluster = 1;
  plan.map.ranks = ranks;
  plan.kernel.early = 1;
  plan.kernel.box_c.rows = plan.map.tile_m;
  const auto share = static_cast<int32_t>((m + ranks - 1) / ranks);
  program.use(TILEPOST_ALL_GATHER_GEMM, ranks, TILEPOST_DIVISION_ARRIVALS, {0, (share + 15) / 16});
  plan.map.ranks = ranks;
  program.finish();
}

fakes::Hang run_exchange_of_rows(const Program& program, void** arguments) {
  RowExchange exchange(program, arguments);
  return exchange.run() ? fakes::Hang{} : exchange.end_given_up();
}

}  // namespace ranks
