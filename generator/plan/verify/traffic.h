// Follows what ranks exchange for each group: which rows of which rank's product move where, and
// what a pattern means them to do.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "generator/plan/verify/parts.h"

namespace tilepost {

// What ranks exchange by the code that is checked, and what they are meant to end with.
struct Traffic {
  struct Run {
    int64_t m, rows;  // consecutive rows of a product
  };
  std::vector<const TileMap*> maps;                // [ranks]
  std::vector<std::span<const int32_t>> row_maps;  // [ranks] routing rows; else empty
  std::vector<std::vector<int32_t>> orders;  // [ranks] routing rows, of A: the order of sending;
                                             // else empty
  std::vector<std::vector<std::vector<Run>>> sent;  // [ranks][ranks] All-to-All: source's rows for
                                                    // a destination, in their order
  std::vector<int64_t> received;                    // [ranks] received_elements
  std::vector<std::vector<uint32_t>> targets;       // [ranks] counter_targets
  int64_t buffer = 0;                               // send_buffer_elements, the least of all ranks
  std::function<std::vector<Step>(int group, int rank)> steps;
};

// Whether the traffic of the plan can be followed in reasonable time. It cannot if the plan routes
// very many rows one by one. Such a plan is not checked here: whether steps move a route's rows as
// they should depends on the code alone, which tests check.
bool can_follow(const Plan& plan);

// The traffic of the plan: its steps, with equal shares or with a route that is uneven and leaves
// ranks empty. The memory keeps the maps of splits, and of ranks with an order of their own, in
// `maps`, and row maps in `row_maps`. `sample` says which route to take, 0 to num_samples(plan) -
// 1. Where rows of A are routed, with the first route a rank receives the most rows that a rank
// may, if ranks have that many. With the second route no rank does.
struct TrafficMemory {
  std::vector<TileMap> maps;
  std::vector<std::vector<int32_t>> row_maps;
};
Traffic traffic_of(const Plan& plan, TrafficMemory& memory, int sample = 0);
int num_samples(const Plan& plan);

// What one rank has sent another in a group and the other has not received yet.
struct SendQueue {
  std::vector<Step> steps;
  size_t next = 0;
  bool empty() const { return next == steps.size(); }
  const Step& front() const { return steps[next]; }
};

constexpr int kAnyRank = -1;  // all ranks have the same there, or it is the sum of all
constexpr int64_t kAny = -1;  // padding, or a sum that stays where it is

// Rows of a send buffer that hold consecutive rows of a product, in columns from n on.
struct Strip {
  int64_t row, rows, m, n;
};

// What lies where in one rank's send buffer. A row is n elements in the panel layout, where the
// tiles of one column show where rows go, and tile_n otherwise.
class Contents {
 public:
  Contents(const Plan& plan, const TileMap& map, std::span<const int32_t> row_map);

  // The strip that `row` lies in, or null.
  const Strip* at(int64_t row) const;

 private:
  std::vector<Strip> strips_;
};

// [ranks]; ranks with the same tiles share one object.
using ContentsByRank = std::vector<std::shared_ptr<const Contents>>;
ContentsByRank contents_of(const Plan& plan, const Traffic& traffic);

// Rows of out and what is meant to be there.
struct Wanted {
  int64_t rows;
  int source;
  int64_t m, n;
};

// What is peculiar to a pattern. Each pattern has an object, in a file of its name. The functions
// decide from the problem and the pattern's row what a plan must be; nothing here asks the planner.
struct PatternCheck {
  // How the schedule is divided (docs/architecture.md).
  tilepost_division_t (*division)(const Plan& plan);
  // Whether what all ranks get is pushed to them where it must be, and nowhere else. The host takes
  // the place of every transport that pushes.
  bool (*pushes_as_it_may)(const Plan& plan);
  // Everything that `rank` is meant to end with, in the order of out; null where that is not the
  // product of another rank.
  std::vector<Wanted> (*wanted)(const Plan& plan, const Traffic& traffic, int rank);
  // Follows every step of every rank; null where there are none. Requires a plan in which the parts
  // of parts.h found nothing.
  void (*follow)(const Plan& plan, const Traffic& traffic, Findings& findings);
};

extern const PatternCheck kGemmCheck, kGemmAllReduceCheck, kGemmReduceScatterCheck,
    kGemmAllToAllCheck, kAllGatherGemmCheck, kAllToAllGemmCheck;

const PatternCheck& check_of(const Plan& plan);

// PatternCheck::follow where tiles are computed and then sent. Checks that sends and receives pair
// up, that a step reads only what its group has finished, and that every rank ends with its rows,
// each written once, in the documented order. Where ranks touch each other's memory, a step may
// read only what its owner has announced for the group, or what kernels have stored before the
// counter is at its target, and a sum must have every rank's part once. For kernels that exchange
// tiles see peer_tiles.cpp.
void follow_product(const Plan& plan, const Traffic& traffic, Findings& findings);
void follow_messages(const Plan& plan, const Traffic& traffic, Findings& findings);
void follow_shared_memory(const Plan& plan, const Traffic& traffic, Findings& findings);
void follow_tiles(const Plan& plan, Findings& findings);

// PatternCheck::follow where kernels exchange rows of A (exchanged_rows.cpp).
void follow_rows(const Plan& plan, Findings& findings);

}  // namespace tilepost
