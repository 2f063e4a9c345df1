#include "runtime/map/tile_map.h"

#include <algorithm>

#include "runtime/map/fnv1a.h"
#include "runtime/map/stagger.h"

namespace tilepost {
namespace {

int ceil_div(int64_t a, int64_t b) {
  return static_cast<int>((a + b - 1) / b);
}

// Fills `rows` up to whole clusters with padding: tile rows outside the product, which are not
// stored.
void pad(const tilepost_map_t& map, std::vector<TileRow>& rows) {
  const int64_t beyond = int64_t{tiles_m(map)} * map.tile_m;
  while (rows.size() % map.cluster != 0) rows.push_back({beyond, -1});
}

// Appends the tiles of one column of a band. The tiles begin with row `shift` of the band, go down
// to its last row, and continue from its first row.
void append_column(const tilepost_map_t& map, std::span<const TileRow> rows, int column,
                   size_t shift, TileMap& out) {
  const int group = static_cast<int>(out.groups.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const TileRow& row = rows[(i + shift) % rows.size()];
    out.tiles.push_back(
        {static_cast<int32_t>(row.m), column * map.tile_n, static_cast<int32_t>(row.row), group});
  }
}

// Appends the tiles of `rows` in bands of equal height. Every other band is swept along n
// backwards. Rows are padded to whole clusters. Groups must be numbered in the order in which they
// are appended.
void append_rows(const tilepost_map_t& map, std::vector<TileRow> rows, bool& backwards,
                 TileMap& out) {
  pad(map, rows);
  const int columns = tiles_n(map), count = static_cast<int>(rows.size());
  const int bands = std::max(1, ceil_div(count, std::max(map.band, map.cluster)));
  const int height = std::max(1, ceil_div(ceil_div(count, bands), map.cluster) * map.cluster);
  for (int first = 0; first < count; first += height, backwards = !backwards) {
    const std::span<const TileRow> band =
        std::span(rows).subspan(first, std::min(height, count - first));
    for (int i = 0; i < columns; ++i)
      append_column(map, band, backwards ? columns - 1 - i : i, 0, out);
  }
}

// Appends the tiles of bands in which shares take turns. A CTA computes every stagger-th position.
// If the band's height divides stagger, the CTA would have tiles of one share only. So the columns
// begin one turn later after every `stagger` positions.
void append_bands(const tilepost_map_t& map, std::vector<Band> bands, bool& backwards,
                  TileMap& out) {
  const int columns = tiles_n(map);
  for (Band& band : bands) {
    pad(map, band.rows);
    for (int i = 0; i < columns; ++i) {
      const size_t shift = out.tiles.size() / map.stagger * band.turn;
      append_column(map, band.rows, backwards ? columns - 1 - i : i, shift, out);
    }
    backwards = !backwards;
  }
}

// All tiles of a share, in the order in which every rank computes them.
std::vector<tilepost_tile_t> swept(const tilepost_map_t& map, const std::vector<TileRow>& rows) {
  bool backwards = false;
  TileMap share;
  append_rows(map, rows, backwards, share);
  return std::move(share.tiles);
}

// Appends the tiles of all shares in turns. Tiles of this rank's own share come `lag` turns later.
// Every rank has the tiles of a share in the same order, so no rank computes a tile later than the
// tile's owner does.
void append_turns(const tilepost_map_t& map, int rank,
                  const std::vector<std::vector<TileRow>>& by_share, TileMap& out) {
  std::vector<std::vector<tilepost_tile_t>> shares;
  size_t most = 0;
  for (const std::vector<TileRow>& rows : by_share)
    most = std::max(most, shares.emplace_back(swept(map, rows)).size());
  const size_t length = map.turn, turns = std::max<size_t>(1, most / length);
  const auto append = [&](int share, size_t turn) {
    const std::vector<tilepost_tile_t>& tiles = shares[share];
    const size_t first = std::min(tiles.size(), turn * length);
    const size_t end = turn + 1 == turns ? tiles.size() : std::min(tiles.size(), first + length);
    for (size_t i = first; i < end; ++i) out.tiles.push_back(tiles[i]);
  };
  const size_t lag = map.lag;
  for (size_t turn = 0; turn < turns + lag; ++turn) {
    for (int distance = 1; turn < turns && distance < map.ranks; ++distance)
      append((rank + distance) % map.ranks, turn);
    if (turn >= lag) append(rank, turn - lag);
  }
}

// Closes the group that began at `first_tile`.
void close_group(const tilepost_map_t& map, size_t first_tile, int64_t offset, int64_t count,
                 TileMap& out) {
  const auto num_tiles = static_cast<int32_t>(out.tiles.size() - first_tile);
  out.groups.push_back({static_cast<int32_t>(first_tile), num_tiles,
                        static_cast<uint32_t>(num_tiles) * map.signals_per_tile, offset, count});
}

// The map divided by rows, in the panel layout.
void build_bands(const tilepost_map_t& map, TileMap& out) {
  bool backwards = false;
  int64_t first = 0;
  for (int g = 0; g < map.num_groups; ++g) {
    const size_t first_tile = out.tiles.size();
    std::vector<TileRow> rows;
    for (int64_t t = first; t < map.cuts[g]; ++t) rows.push_back({t * map.tile_m, t * map.tile_m});
    append_rows(map, std::move(rows), backwards, out);
    const int64_t first_row = std::min(first * map.tile_m, map.m);
    const int64_t end_row = std::min(int64_t{map.cuts[g]} * map.tile_m, map.m);
    close_group(map, first_tile, first_row * map.n, (end_row - first_row) * map.n, out);
    first = map.cuts[g];
  }
  out.send_elements = map.m * map.n;
}

// The map divided by rows, in the tile layout. Positions are made first, then their slots and
// groups.
void build_slots(const tilepost_map_t& map, TileMap& out) {
  bool backwards = false;
  std::vector<TileRow> rows;
  rows.reserve(tiles_m(map));
  for (int64_t t = 0; t < tiles_m(map); ++t) rows.push_back({t * map.tile_m, 0});
  append_rows(map, std::move(rows), backwards, out);
  const int64_t slot_elements = int64_t{map.tile_m} * map.tile_n;
  int slot = 0, first = 0;
  for (int g = 0; g < map.num_groups; ++g) {
    const int end = map.cuts[g];
    const int first_slot = slot;
    for (int t = first; t < end; ++t) {
      tilepost_tile_t& tile = out.tiles[t];
      if (tile.row >= 0) tile.row = slot++ * map.tile_m;
      tile.group = g;
    }
    out.groups.push_back({first, end - first,
                          static_cast<uint32_t>(end - first) * map.signals_per_tile,
                          first_slot * slot_elements, (slot - first_slot) * slot_elements});
    first = end;
  }
  out.send_elements = slot * slot_elements;
}

void build_shares(const tilepost_map_t& map, const MapInputs& inputs, TileMap& out) {
  const std::span<const int64_t> splits = inputs.splits;
  bool backwards = false;
  int64_t send_row = 0;
  for (int g = 0; g < map.num_groups; ++g) {
    const size_t first_tile = out.tiles.size();
    const int64_t first_row = send_row;
    std::vector<std::vector<TileRow>> by_share(map.ranks);
    int64_t share_begin = 0;
    for (int rank = 0; rank < map.ranks; ++rank) {
      const SharePart part = share_part(map, splits, g, rank);
      const int64_t share = splits.empty() ? rows_of_rank(map, rank) : splits[rank];
      for (int64_t t = part.first; t < part.end; ++t, send_row += map.tile_m)
        if (t * map.tile_m < share)
          by_share[rank].push_back({share_begin + t * map.tile_m, send_row});
      share_begin += share;
    }
    if (map.turn > 0) {
      append_turns(map, inputs.rank, by_share, out);
    } else if (map.stagger > 0) {
      const bool last = g + 1 == map.num_groups;
      append_bands(map, staggered_bands(map, inputs.rank, last, by_share), backwards, out);
    } else {
      std::vector<TileRow> rows;
      for (const std::vector<TileRow>& share : by_share)
        rows.insert(rows.end(), share.begin(), share.end());
      append_rows(map, std::move(rows), backwards, out);
    }
    close_group(map, first_tile, first_row * map.n, (send_row - first_row) * map.n, out);
  }
  out.send_elements = send_row * map.n;
}

void build_columns(const tilepost_map_t& map, TileMap& out) {
  const int64_t slab = slab_rows(map);
  const int padded = ceil_div(tiles_m(map), map.cluster) * map.cluster;
  int first = 0;
  for (int g = 0; g < map.num_groups; ++g) {
    const size_t first_tile = out.tiles.size();
    for (int64_t n = first; n < map.cuts[g]; ++n)
      for (int64_t t = 0; t < padded; ++t)
        out.tiles.push_back(
            {static_cast<int32_t>(t * map.tile_m), static_cast<int32_t>(n * map.tile_n),
             static_cast<int32_t>(t < tiles_m(map) ? n * slab + t * map.tile_m : -1), g});
    close_group(map, first_tile, first * slab * map.tile_n,
                (map.cuts[g] - first) * slab * map.tile_n, out);
    first = map.cuts[g];
  }
  out.send_elements = tiles_n(map) * slab * map.tile_n;
}

// ARRIVALS: the number of tile rows of each share that the cuts count.
int64_t counted_tiles(const tilepost_map_t& map) {
  const int64_t all = map.cuts[map.num_groups - 1];
  return map.round_robin != 0 && map.ranks > 1 ? all / (map.ranks - 1) : all;
}

// [ranks + 1] The row at which each share begins, and the number of all rows.
std::vector<int64_t> share_begins(const tilepost_map_t& map, std::span<const int64_t> splits) {
  std::vector<int64_t> begins = {0};
  for (int rank = 0; rank < map.ranks; ++rank)
    begins.push_back(begins.back() + (splits.empty() ? rows_of_rank(map, rank) : splits[rank]));
  return begins;
}

// The group that brings row `row` of `source`'s share to the rank of `inputs`.
int arrival_of(const tilepost_map_t& map, const MapInputs& inputs, int source, int64_t row) {
  if (source == inputs.rank) return 0;
  int first = 1, end = map.num_groups - 1;
  while (first < end) {
    const int middle = (first + end) / 2;
    const SharePart part = arriving_part(map, inputs.splits, middle, source, inputs.rank);
    if (row < part.end * map.tile_m)
      end = middle;
    else
      first = middle + 1;
  }
  return first;
}

// The last group that brings any of the rows [first, end).
int last_arrival(const tilepost_map_t& map, const MapInputs& inputs,
                 const std::vector<int64_t>& begins, int64_t first, int64_t end) {
  int group = 0;
  const auto behind = std::ranges::upper_bound(begins, first);
  auto source = static_cast<int>(behind - begins.begin()) - 1;
  for (; source < map.ranks && begins[source] < end; ++source) {
    const int64_t last = std::min(end, begins[source + 1]) - 1;
    if (last >= begins[source])
      group = std::max(group, arrival_of(map, inputs, source, last - begins[source]));
  }
  return group;
}

// [groups] The tile rows of each group. Tiles of a group wait for the same arrival.
std::vector<std::vector<TileRow>> rows_by_arrival(const tilepost_map_t& map,
                                                  const MapInputs& inputs) {
  const std::vector<int64_t> begins = share_begins(map, inputs.splits);
  std::vector<std::vector<TileRow>> groups(map.num_groups);
  // Tile rows come in this order: from this rank's share to the last row, then from the first row
  // on.
  const int tiles = tiles_m(map);
  const auto begin = static_cast<int>(std::min<int64_t>(begins[inputs.rank] / map.tile_m, tiles));
  for (int i = 0; i < tiles; ++i) {
    const int64_t first = int64_t{(begin + i) % tiles} * map.tile_m;
    const int64_t end = std::min(first + map.tile_m, map.m);
    groups[last_arrival(map, inputs, begins, first, end)].push_back({first, first});
  }
  return groups;
}

void build_arrivals(const tilepost_map_t& map, const MapInputs& inputs, TileMap& out) {
  std::vector<std::vector<TileRow>> groups = rows_by_arrival(map, inputs);
  bool backwards = false;
  for (int g = 0; g < map.num_groups; ++g) {
    const size_t first_tile = out.tiles.size();
    append_rows(map, std::move(groups[g]), backwards, out);
    close_group(map, first_tile, 0, 0, out);
    out.groups.back().target = 1;
  }
  out.send_elements = map.m * map.n;
}

void index_positions(const tilepost_map_t& map, TileMap& out) {
  const int64_t share = share_rows(map), tiles = share_tiles(map);
  const bool shares = map.division == TILEPOST_DIVISION_SHARES;
  out.positions.assign(static_cast<size_t>(map_tile_rows(map)) * tiles_n(map), -1);
  for (size_t t = 0; t < out.tiles.size(); ++t) {
    const tilepost_tile_t& tile = out.tiles[t];
    if (tile.row < 0) continue;
    const int64_t row =
        shares ? tile.m / share * tiles + tile.m % share / map.tile_m : tile.m / map.tile_m;
    out.positions[row * tiles_n(map) + tile.n / map.tile_n] = static_cast<int32_t>(t);
  }
}

}  // namespace

int tiles_m(const tilepost_map_t& map) {
  return ceil_div(map.m, map.tile_m);
}
int tiles_n(const tilepost_map_t& map) {
  return ceil_div(map.n, map.tile_n);
}

int64_t share_rows(const tilepost_map_t& map) {
  return ceil_div(map.m, map.ranks);
}
int64_t first_row_of_rank(const tilepost_map_t& map, int rank) {
  return std::min(rank * share_rows(map), map.m);
}
int64_t rows_of_rank(const tilepost_map_t& map, int rank) {
  const int64_t share = share_rows(map);
  return std::clamp<int64_t>(map.m - rank * share, 0, share);
}

int share_tiles(const tilepost_map_t& map) {
  return ceil_div(share_rows(map), map.tile_m);
}
int map_tile_rows(const tilepost_map_t& map) {
  return map.division == TILEPOST_DIVISION_SHARES ? map.ranks * share_tiles(map) : tiles_m(map);
}

int arriving_tiles(const tilepost_map_t& map) {
  return share_tiles(map) * (map.round_robin != 0 && map.ranks > 1 ? map.ranks - 1 : 1);
}

int64_t slab_rows(const tilepost_map_t& map) {
  return std::max(int64_t{tiles_m(map)} * map.tile_m, map.ranks * share_rows(map));
}

SharePart share_part(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                     int rank) {
  const int64_t first = group == 0 ? 0 : map.cuts[group - 1];
  if (splits.empty()) return {first, map.cuts[group]};
  const int64_t all = map.cuts[map.num_groups - 1];
  const int64_t tiles = ceil_div(splits[rank], map.tile_m);
  return {tiles * first / all, tiles * map.cuts[group] / all};
}

SharePart arriving_part(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                        int source, int rank) {
  const int64_t share = counted_tiles(map);
  const int64_t turns = map.round_robin != 0 ? (source - rank + map.ranks - 1) % map.ranks : 0;
  const int64_t first = std::clamp<int64_t>(map.cuts[group - 1] - turns * share, 0, share);
  const int64_t end = std::clamp<int64_t>(map.cuts[group] - turns * share, 0, share);
  if (splits.empty()) return {first, end};
  const int64_t tiles = ceil_div(splits[source], map.tile_m);
  return {tiles * first / share, tiles * end / share};
}

std::vector<int> arriving_rows(const tilepost_map_t& map, int rank) {
  std::vector<int> counts;
  for (const std::vector<TileRow>& rows : rows_by_arrival(map, {.rank = rank, .splits = {}}))
    counts.push_back(static_cast<int>(rows.size()));
  return counts;
}

TileMap build_tile_map(const tilepost_map_t& map, const MapInputs& inputs) {
  TileMap out;
  switch (map.division) {
    case TILEPOST_DIVISION_ROWS:
      map.layout == TILEPOST_PANEL ? build_bands(map, out) : build_slots(map, out);
      break;
    case TILEPOST_DIVISION_SHARES:
      build_shares(map, inputs, out);
      break;
    case TILEPOST_DIVISION_COLUMNS:
      build_columns(map, out);
      break;
    case TILEPOST_DIVISION_ARRIVALS:
      build_arrivals(map, inputs, out);
      break;
  }
  if (inputs.splits.empty() || map.division != TILEPOST_DIVISION_SHARES) index_positions(map, out);
  return out;
}

bool cuts_are_valid(const tilepost_map_t& map) {
  const int64_t rows = tiles_m(map);
  const int64_t padded = int64_t{ceil_div(rows, map.cluster)} * map.cluster;
  int64_t previous = 0, end = 0;
  switch (map.division) {
    case TILEPOST_DIVISION_ROWS:
      end = map.layout == TILEPOST_PANEL ? rows : padded * tiles_n(map);
      break;
    case TILEPOST_DIVISION_SHARES:
      end = share_tiles(map);
      break;
    case TILEPOST_DIVISION_COLUMNS:
      end = tiles_n(map);
      break;
    case TILEPOST_DIVISION_ARRIVALS:
      end = arriving_tiles(map);
      previous = -1;
      if (map.num_groups < 2 || map.cuts[0] != 0) return false;
      break;
  }
  const bool whole = map.division == TILEPOST_DIVISION_ROWS && map.layout == TILEPOST_PANEL;
  for (int g = 0; g < map.num_groups; ++g) {
    if (map.cuts[g] <= previous) return false;
    if (whole && g + 1 < map.num_groups && map.cuts[g] % map.cluster != 0) return false;
    previous = map.cuts[g];
  }
  return previous == end;
}

std::vector<int32_t> destination_rows(const TileMap& tile_map) {
  std::vector<int32_t> rows;
  rows.reserve(tile_map.positions.size());
  for (const int32_t position : tile_map.positions)
    rows.push_back(position < 0 ? -1 : tile_map.tiles[position].row);
  return rows;
}

uint64_t hash_tile_map(const TileMap& tile_map) {
  Fnv1a hash;
  for (const tilepost_tile_t& tile : tile_map.tiles) {
    hash.mix(static_cast<uint32_t>(tile.m) | uint64_t{static_cast<uint32_t>(tile.n)} << 32);
    hash.mix(static_cast<uint32_t>(tile.row) | uint64_t{static_cast<uint32_t>(tile.group)} << 32);
  }
  for (const tilepost_group_t& group : tile_map.groups) {
    hash.mix(group.target);
    hash.mix(static_cast<uint64_t>(group.offset));
    hash.mix(static_cast<uint64_t>(group.count));
  }
  return hash.value();
}

}  // namespace tilepost
