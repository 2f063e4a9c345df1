// Which rows of which rank's product lie where: what the verifiers of steps compare.
#pragma once

#include <memory>

#include "generator/plan/verify/verify_parts.h"

namespace tilepost {

constexpr int kAnyRank = -1;  // all have the same there, or all together
constexpr int64_t kAny = -1;  // padding, or a sum that stays where it is

// Rows of a send buffer that hold consecutive rows of a product, in columns from n on.
struct Strip {
  int64_t row, rows, m, n;
};

// What lies where in one rank's send buffer. A row is n elements in the panel layout, where the
// tiles of one column tell where rows go, and tile_n otherwise.
class Contents {
 public:
  Contents(const Plan& plan, const TileMap& map, std::span<const int32_t> row_map);

  // The strip that `row` lies in, or null.
  const Strip* at(int64_t row) const;

 private:
  std::vector<Strip> strips_;
};

// [ranks]; those with the same tiles share theirs.
using ContentsByRank = std::vector<std::shared_ptr<const Contents>>;
ContentsByRank contents_of(const Plan& plan, const Traffic& traffic);

// Rows of out and what is meant to be there.
struct Wanted {
  int64_t rows;
  int source;
  int64_t m, n;
};

// Everything that `rank` is meant to end with, in the order of out.
std::vector<Wanted> wanted_by(const Plan& plan, const Traffic& traffic, int rank);

// verify_steps where ranks touch each other's memory.
void verify_shared(const Plan& plan, const Traffic& traffic, Findings& findings);

}  // namespace tilepost
