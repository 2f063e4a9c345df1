// The list of tile rows of tokens (tilepost/host/token_list.h): whatever rows experts have, every
// row is in one tile, and a tile waits for the group that brings the last of its tokens.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/map/tile_map.h"
#include "tests/catch.h"
#include "tilepost/host/token_list.h"

namespace tilepost {
namespace {

// Arrivals at a rank: a map, and what TokenGroups is of it.
struct Arrivals {
  tilepost_map_t map{};
  std::vector<int32_t> cuts;
  TokenGroups groups;

  Arrivals(std::mt19937& random, int ranks, bool in_turns) {
    const auto drawn = [&](int least, int most) {
      return std::uniform_int_distribution<int>(least, most)(random);
    };
    map.m = drawn(ranks, 900);
    map.n = map.tile_n = map.cluster = map.band = 1;
    map.tile_m = drawn(1, 3) * kExpertUnit;
    map.ranks = ranks;
    map.division = TILEPOST_DIVISION_ARRIVALS;
    map.round_robin = in_turns ? 1 : 0;
    std::set<int32_t> ends = {0, arriving_tiles(map)};
    for (int i = drawn(0, 6); i > 0; --i) ends.insert(drawn(0, arriving_tiles(map)));
    cuts.assign(ends.begin(), ends.end());
    map.cuts = cuts.data();
    map.num_groups = static_cast<int32_t>(cuts.size());
    groups.rank = drawn(0, ranks - 1);
    groups.ranks = ranks;
    groups.most_tokens = static_cast<int>(share_rows(map)) + drawn(0, 5);
    groups.tile_m = map.tile_m;
    groups.share_tiles = in_turns ? share_tiles(map) : 0;
    groups.groups = map.num_groups;
    std::ranges::copy(cuts, groups.cuts);
  }

  // The group that brings a token, by what steps bring.
  int group_of(int source, int token) const {
    if (source == groups.rank) return 0;
    for (int group = 1; group < map.num_groups; ++group) {
      const SharePart part = arriving_part(map, {}, group, source, groups.rank);
      if (token >= part.first * map.tile_m && token < part.end * map.tile_m) return group;
    }
    return -1;
  }
};

TEST_CASE("a token comes with the group whose steps bring its row") {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const Arrivals arrivals(random, 2 + round % 3, round % 2 == 0);
    for (int source = 0; source < arrivals.map.ranks; ++source)
      for (int token = 0; token < rows_of_rank(arrivals.map, source); ++token)
        REQUIRE(arrivals.groups.group_of(source * arrivals.groups.most_tokens + token) ==
                arrivals.group_of(source, token));
  }
}

TEST_CASE("the list has every row once, by group, and each tile the group of its last token") {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    const int ranks = 1 + round % 4, tile_m = 16 * (1 + round % 5);
    const Arrivals arrivals(random, ranks == 1 ? 2 : ranks, round % 2 == 0);
    std::vector<int32_t> ends, tokens;
    const auto drawn = [&](int most) {
      return std::uniform_int_distribution<int>(0, most)(random);
    };
    const int experts = 1 + drawn(9);
    for (int expert = 0; expert < experts; ++expert) {
      const int rows = drawn(3) == 0 ? 0 : drawn(3 * tile_m);
      for (int i = 0; i < rows; ++i) {
        const int source = drawn(arrivals.map.ranks - 1);
        const auto share = static_cast<int>(rows_of_rank(arrivals.map, source));
        tokens.push_back(source * arrivals.groups.most_tokens + drawn(std::max(share, 1) - 1));
      }
      ends.push_back(static_cast<int32_t>(tokens.size()));
    }
    Experts all{ends.data(), experts};
    all.tokens = tokens.data();
    const auto m = static_cast<int>(tokens.size());
    const auto list = list_token_tiles(all, m, tile_m, arrivals.groups);
    REQUIRE(list.front().row == static_cast<int>(list.size()) - 1);
    REQUIRE(list.front().row <= most_tile_rows(m, experts, tile_m));
    std::vector<int> covered(tokens.size(), 0);
    int group = 0, expert = 0;
    for (size_t i = 1; i < list.size(); ++i) {
      const tilepost_token_tile_t& tile = list[i];
      REQUIRE(tile.group >= group);
      if (tile.group == group) REQUIRE(tile.expert >= expert);
      int last = 0;
      for (int row = tile.row; row < tile.row + tile.rows; ++row) {
        REQUIRE(row < ends[tile.expert]);
        REQUIRE(row >= (tile.expert == 0 ? 0 : ends[tile.expert - 1]));
        ++covered[row];
        last = std::max(last, arrivals.groups.group_of(tokens[row]));
      }
      REQUIRE(tile.group == last);
      group = tile.group, expert = tile.expert;
    }
    REQUIRE(std::ranges::all_of(covered, [](int times) { return times == 1; }));
  }
}

}  // namespace
}  // namespace tilepost
