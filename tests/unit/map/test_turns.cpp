// The order of tiles in which every rank adds the other ranks' tiles to its own
// (tilepost_map_t::turn). Checks its properties on all small shapes, and that ranks never wait for
// each other in a circle.
#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <tuple>

#include "runtime/map/tile_map.h"
#include "tests/catch.h"

namespace tilepost::test {
namespace {

constexpr int kTileM = 2, kTileN = 3, kPadding = -1;

int up_to(int count, int unit) {
  return (count + unit - 1) / unit * unit;
}

struct Shape {
  int m, columns, ranks, cluster, band, turn, lag;
  int32_t cut = 0;  // the only group has all tile rows of a share

  Shape(int m_, int columns_, int ranks_, int cluster_, int band_, int turn_, int lag_)
      : m(m_),
        columns(columns_),
        ranks(ranks_),
        cluster(cluster_),
        band(band_),
        turn(turn_),
        lag(lag_),
        cut((rows_of_share() + kTileM - 1) / kTileM) {}

  int rows_of_share() const { return (m + ranks - 1) / ranks; }
  // The number of tile rows of a share. tiles(): the number of its tiles with padding tiles.
  int tile_rows(int rank) const {
    const int rows = std::clamp(m - rank * rows_of_share(), 0, rows_of_share());
    return (rows + kTileM - 1) / kTileM;
  }
  int tiles(int rank) const { return up_to(tile_rows(rank), cluster) * columns; }
  int all_tiles() const {
    int all = 0;
    for (int rank = 0; rank < ranks; ++rank) all += tiles(rank);
    return all;
  }
  // Whether all shares are equally long and a whole number of turns.
  bool is_even() const {
    return tile_rows(0) == tile_rows(ranks - 1) && tile_rows(0) % cluster == 0 &&
           tiles(0) % turn == 0;
  }
  tilepost_map_t map() const {
    tilepost_map_t map = {};
    map.m = m, map.n = int64_t{columns} * kTileN;
    map.tile_m = kTileM, map.tile_n = kTileN;
    map.cluster = cluster, map.band = band;
    map.signals_per_tile = 2;
    map.layout = TILEPOST_PANEL;
    map.division = TILEPOST_DIVISION_SHARES;
    map.ranks = ranks;
    map.stagger = 2 * cluster;
    map.turn = turn, map.lag = lag;
    map.num_groups = 1;
    map.cuts = &cut;
    return map;
  }
  std::vector<TileMap> maps() const {
    std::vector<TileMap> all;
    for (int rank = 0; rank < ranks; ++rank)
      all.push_back(build_tile_map(map(), {.rank = rank, .splits = {}}));
    return all;
  }
  int owner(const tilepost_tile_t& tile) const {
    return tile.row < 0 ? kPadding : tile.m / rows_of_share();
  }
};

// Calls `check` for every small shape. Some shares are ragged at their end, and the last ones may
// be short or empty.
void for_shapes(const std::function<void(const Shape&)>& check) {
  for (const int ranks : {2, 3, 4, 5, 8})
    for (const int rows : {1, 2, 3, 5, 8})
      for (const int missing : {0, 1, 3, 2 * rows + 1})
        for (const int columns : {1, 3})
          for (const int cluster : {1, 2, 4})
            for (const int band : {1, 4})
              for (const int turn : {1, 2, 5})
                for (int lag = 0; lag <= 3; ++lag) {
                  const int m = ranks * rows * kTileM - missing;
                  if (m > 0) check({m, columns, ranks, cluster, band, turn * cluster, lag});
                }
}

using Tile = std::tuple<int, int, int>;  // m, n, row; for a padding tile -1, n, -1
Tile key_of(const tilepost_tile_t& tile) {
  return {tile.row < 0 ? -1 : tile.m, tile.n, tile.row};
}

// ---- The order again, by sorting tiles instead of appending them

// The tiles of a share, by their row i and column j in the share.
std::vector<Tile> share_in_order(const Shape& shape, int share) {
  const int count = up_to(shape.tile_rows(share), shape.cluster);
  if (count == 0) return {};
  const int least = std::max(shape.band, shape.cluster), bands = (count + least - 1) / least;
  const int height = up_to((count + bands - 1) / bands, shape.cluster);
  std::vector<std::tuple<int, int, int, int>> keys;  // band, sweep order of the column, row, column
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < shape.columns; ++j)
      keys.emplace_back(i / height, i / height % 2 == 0 ? j : -j, i, j);
  std::sort(keys.begin(), keys.end());
  std::vector<Tile> tiles;
  for (const auto& [band, swept, i, j] : keys) {
    const bool inside = i < shape.tile_rows(share);
    const int row = (share * shape.cut + i) * kTileM;
    tiles.emplace_back(inside ? share * shape.rows_of_share() + i * kTileM : -1, j * kTileN,
                       inside ? row : -1);
  }
  return tiles;
}

std::vector<Tile> schedule_in_order(const Shape& shape, int rank) {
  using Key = std::tuple<int, int, int>;  // turn, place in it, number in the share
  std::vector<std::pair<Key, Tile>> keys;
  int most = 0;
  for (int share = 0; share < shape.ranks; ++share) most = std::max(most, shape.tiles(share));
  const int last_turn = std::max(most / shape.turn, 1) - 1;
  for (int share = 0; share < shape.ranks; ++share) {
    const bool own = share == rank;
    const int place = own ? shape.ranks : (share - rank + shape.ranks) % shape.ranks;
    int number = 0;
    for (const Tile& tile : share_in_order(shape, share)) {
      const int turn = std::min(number / shape.turn, last_turn) + (own ? shape.lag : 0);
      keys.emplace_back(Key{turn, place, number++}, tile);
    }
  }
  std::sort(keys.begin(), keys.end());
  std::vector<Tile> tiles;
  for (const auto& [key, tile] : keys) tiles.push_back(tile);
  return tiles;
}

std::vector<Tile> keys_of(const TileMap& map) {
  std::vector<Tile> keys;
  for (const tilepost_tile_t& tile : map.tiles) keys.push_back(key_of(tile));
  return keys;
}

// The first rows of the tiles in the first column, in order.
std::string rows(const TileMap& map) {
  std::string text;
  for (const tilepost_tile_t& tile : map.tiles)
    if (tile.n == 0) text += (tile.row < 0 ? "-" : std::to_string(tile.m)) + " ";
  return text;
}

// ---- For each rank, in order: the owner of each tile, and the tile's number in its share

struct Work {
  int owner, tile;
};
using Orders = std::vector<std::vector<Work>>;  // one for each rank

Orders orders_of(const Shape& shape) {
  Orders orders;
  for (const TileMap& map : shape.maps()) {
    std::vector<Work>& order = orders.emplace_back();
    for (const tilepost_tile_t& tile : map.tiles)
      order.push_back({shape.owner(tile), tile.row / kTileM * shape.columns + tile.n / kTileN});
  }
  return orders;
}

// The least number of positions by which an owner's tile comes later than the same tile on another
// rank.
int least_distance(const Orders& orders) {
  std::vector<std::vector<int>> positions;
  for (const std::vector<Work>& order : orders) {
    std::vector<int>& of_rank = positions.emplace_back();
    for (int i = 0; i < static_cast<int>(order.size()); ++i) {
      if (order[i].owner == kPadding) continue;
      if (static_cast<int>(of_rank.size()) <= order[i].tile) of_rank.resize(order[i].tile + 1, -1);
      of_rank[order[i].tile] = i;
    }
  }
  int least = 1 << 20;
  for (size_t rank = 0; rank < orders.size(); ++rank)
    for (int i = 0; i < static_cast<int>(orders[rank].size()); ++i) {
      const Work& work = orders[rank][i];
      if (work.owner != static_cast<int>(rank)) continue;
      for (size_t other = 0; other < orders.size(); ++other)
        if (other != rank) least = std::min(least, i - positions[other][work.tile]);
    }
  return least;
}

// Ranks whose CTAs take their positions in order. An own tile waits until all other ranks have
// stored it. A CTA waits until all CTAs of its cluster have done as many positions as it has,
// because they load for each other.
class Ranks {
 public:
  Ranks(Orders orders, int cluster, std::vector<int> ctas, unsigned seed)
      : orders_(std::move(orders)),
        cluster_(cluster),
        ctas_(std::move(ctas)),
        random_(seed),
        stored_(orders_.size()) {
    for (int rank = 0; rank < static_cast<int>(orders_.size()); ++rank) {
      done_.emplace_back(ctas_[rank], 0);
      for (int cta = 0; cta < ctas_[rank]; ++cta) all_.emplace_back(rank, cta);
    }
  }
  // Whether all ranks reach the end of their schedules.
  bool run() {
    size_t left = 0;
    for (const std::vector<Work>& order : orders_) left += order.size();
    for (bool moves = true; moves && left > 0;) {
      moves = false;
      std::shuffle(all_.begin(), all_.end(), random_);
      for (const auto& [rank, cta] : all_) {
        if (!step(rank, cta)) continue;
        moves = true;
        --left;
      }
    }
    return left == 0;
  }

 private:
  bool step(int rank, int cta) {
    std::vector<int>& done = done_[rank];
    const size_t position = static_cast<size_t>(done[cta]) * ctas_[rank] + cta;
    if (position >= orders_[rank].size()) return false;
    const int first = cta / cluster_ * cluster_;
    for (int mate = first; mate < first + cluster_; ++mate)
      if (done[mate] < done[cta]) return false;
    const Work& work = orders_[rank][position];
    for (size_t other = 0; work.owner == rank && other < stored_.size(); ++other)
      if (static_cast<int>(other) != rank && !stored_[other].contains(work.tile)) return false;
    if (work.owner != kPadding) stored_[rank].insert(work.tile);
    ++done[cta];
    return true;
  }

  Orders orders_;
  int cluster_;
  std::vector<int> ctas_;  // for each rank
  std::minstd_rand random_;
  std::vector<std::set<int>> stored_;     // tiles that each rank has done
  std::vector<std::vector<int>> done_;    // how many positions each CTA has done
  std::vector<std::pair<int, int>> all_;  // all pairs of a rank and a CTA
};

// The number of CTAs on each rank. With `differ` each rank has one cluster more than the rank
// before.
std::vector<int> ctas_of(const Shape& shape, int clusters, bool differ) {
  std::vector<int> ctas;
  for (int rank = 0; rank < shape.ranks; ++rank)
    ctas.push_back((clusters + (differ ? rank : 0)) * shape.cluster);
  return ctas;
}

TEST_CASE("the others' shares take turns, and the own one comes so many turns behind") {
  // 2 shares of 4 tile rows.
  CHECK(rows(Shape(16, 1, 2, 1, 8, 2, 0).maps()[0]) == "8 10 0 2 12 14 4 6 ");
  CHECK(rows(Shape(16, 1, 2, 1, 8, 2, 1).maps()[0]) == "8 10 12 14 0 2 4 6 ");
  CHECK(rows(Shape(16, 1, 2, 1, 8, 2, 1).maps()[1]) == "0 2 4 6 8 10 12 14 ");
  // The last turn has what is left, here 3 of 5 tile rows.
  CHECK(rows(Shape(18, 1, 2, 1, 8, 2, 0).maps()[0]) == "9 11 0 2 13 15 17 4 6 8 ");
  // 3 shares of 3, 3 and 2 tile rows. With clusters of 2 the shares of 3 tile rows get padding.
  CHECK(rows(Shape(16, 1, 3, 1, 8, 1, 0).maps()[1]) == "12 0 6 14 2 8 4 10 ");
  CHECK(rows(Shape(16, 1, 3, 2, 8, 2, 0).maps()[1]) == "12 14 0 2 6 8 4 - 10 - ");
  CHECK(rows(Shape(8, 1, 2, 2, 8, 4, 0).maps()[1]) == "0 2 4 6 ");
}

TEST_CASE("the schedule is that of tiles sorted by turn, share and place in their share") {
  int maps = 0;
  for_shapes([&](const Shape& shape) {
    const std::vector<TileMap> all = shape.maps();
    for (int rank = 0; rank < shape.ranks; ++rank, ++maps)
      REQUIRE(keys_of(all[rank]) == schedule_in_order(shape, rank));
  });
  REQUIRE(maps > 50000);
}

TEST_CASE("with turns all tiles are there once, with their groups and destinations") {
  for_shapes([](const Shape& shape) {
    tilepost_map_t without = shape.map();
    without.turn = without.lag = without.stagger = 0;
    const TileMap plain = build_tile_map(without);
    const auto tiles_of = [](const TileMap& map) {
      std::multiset<Tile> tiles;
      for (const tilepost_tile_t& tile : map.tiles)
        if (tile.row >= 0) tiles.insert(key_of(tile));
      return tiles;
    };
    const std::multiset<Tile> expected = tiles_of(plain);
    for (const TileMap& map : shape.maps()) {
      REQUIRE(tiles_of(map) == expected);
      REQUIRE(destination_rows(map) == destination_rows(plain));
      REQUIRE(map.send_elements == plain.send_elements);
      REQUIRE(static_cast<int>(map.tiles.size()) == shape.all_tiles());
      REQUIRE(map.groups.size() == 1);
      // Each share is filled up to whole clusters, so there may be more padding than without turns.
      const tilepost_group_t& group = map.groups[0];
      REQUIRE(group.first_tile == 0);
      REQUIRE(group.num_tiles == shape.all_tiles());
      REQUIRE(group.target == 2 * static_cast<uint32_t>(group.num_tiles));
      REQUIRE(group.offset == plain.groups[0].offset);
      REQUIRE(group.count == plain.groups[0].count);
      REQUIRE(std::ranges::all_of(map.tiles, [](const auto& tile) { return tile.group == 0; }));
    }
  });
}

TEST_CASE("a cluster's tiles are of one column and one share") {
  for_shapes([](const Shape& shape) {
    for (const TileMap& map : shape.maps()) {
      bool same = map.tiles.size() % shape.cluster == 0;
      for (size_t i = 0; same && i < map.tiles.size(); ++i) {
        // Padding is at the end of a cluster. The first tile of a cluster has an owner.
        const tilepost_tile_t &first = map.tiles[i / shape.cluster * shape.cluster],
                              &tile = map.tiles[i];
        same = tile.n == first.n && first.row >= 0 &&
               (tile.row < 0 || shape.owner(tile) == shape.owner(first));
      }
      REQUIRE(same);
    }
  });
}

TEST_CASE("all ranks have a share's tiles in one order") {
  for_shapes([](const Shape& shape) {
    const std::vector<TileMap> all = shape.maps();
    const auto of_share = [&](const TileMap& map, int share) {
      std::vector<Tile> tiles;
      for (const tilepost_tile_t& tile : map.tiles)
        if (shape.owner(tile) == share) tiles.push_back(key_of(tile));
      return tiles;
    };
    for (int share = 0; share < shape.ranks; ++share)
      for (const TileMap& map : all) REQUIRE(of_share(map, share) == of_share(all[0], share));
  });
}

TEST_CASE("a tile comes no later on any rank than on its owner") {
  int even = 0;
  for_shapes([&](const Shape& shape) {
    const int least = least_distance(orders_of(shape));
    REQUIRE(least >= 0);
    if (!shape.is_even()) return;
    // If all shares are equal and whole turns, the owner computes a tile one turn later than other
    // ranks, and one turn more for each turn of lag that there is. (The rank before the owner meets
    // this bound, in the first or the last turn.)
    ++even;
    const int turns = shape.tiles(0) / shape.turn;
    REQUIRE(least == shape.turn * (1 + std::min(shape.lag, turns - 1)));
  });
  REQUIRE(even > 1000);
}

TEST_CASE("between equal shares of whole turns the distance is known") {
  for_shapes([](const Shape& shape) {
    if (!shape.is_even()) return;
    const std::vector<TileMap> all = shape.maps();
    const int ranks = shape.ranks, turns = shape.tiles(0) / shape.turn;
    bool right = true;
    for (size_t i = 0; i < all[0].positions.size(); ++i) {
      const int owner = static_cast<int>(i) / (shape.cut * shape.columns);
      const int first = all[owner].positions[i];
      // The number of own tiles before this one gives its turn.
      int number = 0;
      for (int p = 0; p < first; ++p) number += shape.owner(all[owner].tiles[p]) == owner;
      const int turn = number / shape.turn;
      const int later = std::min(shape.lag, turns - 1 - turn), earlier = std::min(shape.lag, turn);
      for (int rank = 0; rank < ranks; ++rank) {
        if (rank == owner) continue;
        const int between = (owner - rank + ranks) % ranks;
        right &= first - all[rank].positions[i] ==
                 shape.turn * (ranks - between + (ranks - 1) * later + earlier);
      }
    }
    REQUIRE(right);
  });
}

TEST_CASE("ranks that wait for tiles of others never wait in a circle") {
  int runs = 0;
  for_shapes([&](const Shape& shape) {
    if (shape.band != 1 || shape.turn > 2 * shape.cluster || shape.ranks == 5) return;
    const Orders orders = orders_of(shape);
    for (const int clusters : {1, 2, 5})
      for (const bool differ : {false, true})
        REQUIRE(Ranks(orders, shape.cluster, ctas_of(shape, clusters, differ), ++runs).run());
  });
  REQUIRE(runs > 5000);
}

TEST_CASE("an order with own tiles first has a circle") {
  int orders_tried = 0;
  for_shapes([&](const Shape& shape) {
    if (shape.tile_rows(1) == 0) return;  // rank 0 has all rows: no circle
    Orders orders = orders_of(shape);
    for (int rank = 0; rank < shape.ranks; ++rank)
      std::stable_partition(orders[rank].begin(), orders[rank].end(),
                            [&](const Work& work) { return work.owner == rank; });
    REQUIRE(least_distance(orders) < 0);
    ++orders_tried;
    if (shape.cluster == 1)
      REQUIRE(!Ranks(orders, 1, ctas_of(shape, 1, false), orders_tried).run());
  });
  REQUIRE(orders_tried > 5000);
}

TEST_CASE("shares in another order on their owner have a circle") {
  // 2 shares of 3 tiles, in turns of one. Each rank begins at the end of its own share.
  const Shape shape(12, 1, 2, 1, 8, 1, 0);
  Orders orders = orders_of(shape);
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<Work> own;
    for (const Work& work : orders[rank])
      if (work.owner == rank) own.push_back(work);
    for (Work& work : orders[rank])
      if (work.owner == rank) work = own.back(), own.pop_back();
  }
  CHECK(least_distance(orders) < 0);
  CHECK(!Ranks(orders, 1, {1, 1}, 1).run());
  CHECK(!Ranks(orders, 1, {3, 3}, 1).run());
  // Each position has a CTA of its own, so none waits for another.
  CHECK(Ranks(orders, 1, {6, 6}, 1).run());
}

TEST_CASE("shares of uneven splits take such turns") {
  const std::vector<int64_t> splits = {9, 0, 4};
  // The shares have 5, 0 and 2 tile rows.
  const Shape shape(13, 1, 3, 1, 8, 2, 0);
  CHECK(rows(build_tile_map(shape.map(), {.rank = 0, .splits = splits})) == "9 11 0 2 4 6 8 ");
  CHECK(rows(build_tile_map(shape.map(), {.rank = 1, .splits = splits})) == "9 11 0 2 4 6 8 ");
  CHECK(rows(build_tile_map(shape.map(), {.rank = 2, .splits = splits})) == "0 2 9 11 4 6 8 ");
}

}  // namespace
}  // namespace tilepost::test
