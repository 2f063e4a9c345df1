// Where kernels exchange tiles and a rank gets its share: who stores which rows where, and who
// waits for what. The tests do what the kernels do, for small numbers of everything.
#include <algorithm>
#include <vector>

#include "tests/catch.h"
#include "tilepost/internal/exchange_shares.h"

namespace tilepost::test {
namespace {

constexpr int kUnit = 8;

struct Problem {
  int m, tile_m, per_tile, columns;

  int tiles() const { return (m + tile_m - 1) / tile_m; }
  int parts() const { return tiles() * per_tile; }
  // The rows of the product that belong to the part.
  ExchangeRange part(int number) const {
    const int units = tile_m / kUnit, cta = number % per_tile;
    const int tile = number / per_tile * tile_m;
    return {tile + cta * units / per_tile * kUnit, tile + (cta + 1) * units / per_tile * kUnit};
  }
};

template <int kRanks>
class Play {
 public:
  explicit Play(const Problem& problem)
      : problem_(problem), share_((problem.m + kRanks - 1) / kRanks), shares_{problem.m, share_} {}

  // Stores boxes of `rows` rows into slots, each box on all ranks that get any of its rows. A slot
  // has room for one box in front. Returns how many rows are stored for nothing.
  int boxes(int rows) {
    int for_nothing = 0;
    for (int own = 0; own < kRanks; ++own) {
      std::vector<std::vector<int>> slot(kRanks, std::vector<int>(rows + share_, -1));
      for (int number = 0; number < problem_.parts(); ++number) {
        const ExchangeRange part = problem_.part(number);
        for (int first = part.first; first < part.end; first += rows)
          for_nothing += box({first, first + rows}, own, slot);
      }
      for (int row = 0; row < problem_.m; ++row)
        REQUIRE(slot[row / share_][rows + row % share_] == row);
    }
    return for_nothing;
  }

  // Checks that every row of a share belongs to one slice. The slice knows which parts its rows are
  // in, and the store threads of these parts announce them to the rank.
  void slices() {
    std::vector<int> taken(problem_.m, 0);
    for (int rank = 0; rank < kRanks; ++rank)
      for (int i = 0; i < problem_.parts(); ++i) {
        const ExchangeRange slice = exchange_slice(shares_.rows_of(rank), i, problem_.parts());
        for (int row = slice.first; row < slice.end; ++row) {
          const int number = exchange_part(row, problem_.tile_m, problem_.per_tile);
          const ExchangeRange part = problem_.part(number);
          const ExchangeRanks told = shares_.ranks_of(part);
          REQUIRE((row >= part.first && row < part.end));
          REQUIRE((rank >= told.first && rank < told.first + told.count));
          REQUIRE(row / share_ == rank);
          ++taken[row];
        }
      }
    REQUIRE(std::ranges::all_of(taken, [](int times) { return times == 1; }));
  }

  // Checks that each line goes to exactly the ranks that wait for it, and that these lines have all
  // elements of the ranks' rows.
  void lines() {
    const int columns = problem_.columns;
    for (int number = 0; number < problem_.parts(); ++number) {
      const ExchangeRange part = problem_.part(number).within({0, problem_.m});
      const int all = exchange_lines({0, part.count()}, columns).end;
      for (int rank = 0; rank < kRanks; ++rank) {
        const ExchangeRange own = shares_.rows_of(rank).within(part);
        ExchangeRange wanted{0, 0};
        if (own.count() > 0)
          wanted = exchange_lines({own.first - part.first, own.end - part.first}, columns);
        REQUIRE(wanted.count() <= most_exchange_lines(own.count(), columns));
        for (int line = 0; line < all; ++line) {
          const ExchangeRange rows = rows_of_line(line, columns);
          const ExchangeRanks to = shares_.ranks_of(
              ExchangeRange{part.first + rows.first, part.first + rows.end}.within(part));
          const bool gets = rank >= to.first && rank < to.first + to.count;
          REQUIRE(gets == (line >= wanted.first && line < wanted.end));
          for (int i = 6 * line; i < 6 * line + 6; ++i) {
            const int row = part.first + i / columns;
            if (row >= own.first && row < own.end) REQUIRE(gets);
          }
        }
      }
    }
  }

 private:
  int box(const ExchangeRange& box, int own, std::vector<std::vector<int>>& slot) {
    int for_nothing = 0;
    const ExchangeRanks ranks = shares_.ranks_of(box);
    std::vector<int> times(kRanks, 0);
    for (int place = 0; place < ranks.count; ++place) {
      const int rank = ranks.at(place, own), rows = box.count();
      REQUIRE((rank >= 0 && rank < kRanks));
      REQUIRE(++times[rank] == 1);
      const ExchangeRange gets = shares_.rows_of(rank);
      const int at = box.first - gets.first + rows;
      REQUIRE(at > 0);  // TMA cannot store in front of a map
      for (int i = 0; i < rows && at + i < rows + gets.count(); ++i) {
        slot[rank][at + i] = box.first + i;
        for_nothing += at + i < rows ? 1 : 0;
      }
    }
    return for_nothing;
  }

  const Problem problem_;
  const int share_;
  const ExchangeShares<kRanks, true> shares_;
};

template <int kRanks>
void play_all() {
  for (const int tile_m : {8, 16, 48, 112, 128})
    for (const int per_tile : {1, 2, 3, 4, 8})
      for (int m = 1; m <= 260; m += m < 20 ? 1 : 13) {
        const int units = tile_m / kUnit;
        if (per_tile > units) continue;
        CAPTURE(kRanks, tile_m, per_tile, m);
        Play<kRanks> play({m, tile_m, per_tile, 64});
        play.slices();
        play.lines();
        const int owned = tile_m / per_tile;
        for (const int rows : {8, 16, owned}) {
          const bool whole = units % per_tile == 0 ? owned % rows == 0 : rows == kUnit;
          if (whole) CHECK(play.boxes(rows) <= kRanks * (kRanks - 1) * (rows - 1));
        }
      }
}

TEST_CASE("every row of a share comes, from every rank, and is waited for by who takes it") {
  play_all<2>();
  play_all<3>();
  play_all<4>();
  play_all<8>();
}

TEST_CASE("ranks that all get all rows store with the one behind them first") {
  constexpr ExchangeShares<4, false> kAll{100, 0};
  const ExchangeRanks ranks = kAll.ranks_of({8, 16});
  REQUIRE(ranks.count == 4);
  REQUIRE(kAll.rows_of(3).count() == 100);
  for (int own = 0; own < 4; ++own)
    for (int place = 0; place < 4; ++place) REQUIRE(ranks.at(place, own) == (own + 1 + place) % 4);
}

}  // namespace
}  // namespace tilepost::test
