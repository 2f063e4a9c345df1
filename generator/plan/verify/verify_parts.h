// The parts of the verifier (verify_plan in make_plan.h). Each derives what must hold from the
// problem and compares it with what the plan says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// Collects what is wrong; stops collecting after a few, since one fault shows in many places.
class Findings {
 public:
  static constexpr size_t kMax = 8;
  void add(std::string what) {
    if (list_.size() < kMax) list_.push_back(std::move(what));
  }
  bool full() const { return list_.size() >= kMax; }
  bool empty() const { return list_.empty(); }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

// Where tiles and shares of a problem are, by arithmetic of its own. Requires positive sizes.
struct Geometry {
  explicit Geometry(const Plan& plan);

  int64_t m, n;  // elements
  int tile_m, tile_n;
  int64_t tiles_n;      // tile columns
  int64_t share;        // rows of an equal share: ceil(m / ranks); m where ranks have none
  int64_t share_tiles;  // tile rows of one
  int shares;           // ranks, or 1
  bool anew;            // tile rows start anew with every share (TILEPOST_DIVISION_SHARES)

  int64_t rows_of(int rank) const { return std::clamp<int64_t>(m - rank * share, 0, share); }
  // Tile rows that have an entry in TileMap::positions, and how many of them are there.
  int64_t tile_rows() const;
  int64_t stored_tile_rows() const;
  // The tile row that starts at row `first`, -1 if none does. Requires 0 <= first < m.
  int64_t tile_row(int64_t first) const;
};

// Every tile of the product has exactly one position, TileMap::positions is the inverse, padding is
// outside and not stored, cluster-mates share a column and a group, groups partition the schedule,
// targets are what is posted. False if the groups do not fit the schedule, on which the other parts
// rely.
bool verify_tiles(const Plan& plan, const TileMap& map, Findings& findings);

// The elements that the tiles of each group write form exactly the group's block, each once, in the
// order that the division promises, and blocks follow each other from 0 to send_elements. Requires
// groups whose ranges lie inside the schedule.
void verify_blocks(const Plan& plan, const TileMap& map, Findings& findings);

// The same of the tile tables of the other ranks where each has an order of its own
// (tilepost_map_t::stagger), and that all have the same groups. Builds them.
void verify_orders(const Plan& plan, Findings& findings);

// The ranks whose own tile tables are looked at, where they differ: all, or of very large ones the
// first, the last and one between.
std::vector<int> ranks_to_check(const Plan& plan);

// What ranks exchange, as some code says it, and what they are meant to end with.
struct Traffic {
  struct Run {
    int64_t m, rows;  // consecutive rows of a product
  };
  std::vector<const TileMap*> maps;                 // [ranks]
  std::vector<std::span<const int32_t>> row_maps;   // [ranks] routing rows; else empty
  std::vector<std::vector<std::vector<Run>>> sent;  // [ranks][ranks] All-to-All: source's rows for
                                                    // a destination, in their order
  std::vector<int64_t> received;                    // [ranks] received_elements
  std::vector<std::vector<uint32_t>> targets;       // [ranks] counter_targets
  int64_t buffer = 0;                               // send_buffer_elements, the least of all ranks
  std::function<std::vector<Step>(int group, int rank)> steps;
};

// Whether the traffic of the plan can be followed in reasonable time. Not if it routes very many
// rows one by one: that its steps move a route's rows as they should depends on the code alone, and
// is tested.
bool can_follow(const Plan& plan);

// The traffic of the plan: its steps, with equal shares or with a route that is uneven and leaves
// ranks empty. The maps of splits, and of ranks with an order of their own, are kept in `maps`, row
// maps in `row_maps`.
struct TrafficMemory {
  std::vector<TileMap> maps;
  std::vector<std::vector<int32_t>> row_maps;
};
Traffic traffic_of(const Plan& plan, TrafficMemory& memory);

// What one rank has sent another in a group and that one has not received yet.
struct SendQueue {
  std::vector<Step> steps;
  size_t next = 0;
  bool empty() const { return next == steps.size(); }
  const Step& front() const { return steps[next]; }
};

// Follows every step of every rank: sends and receives pair up, a step reads only what its group
// has finished, and every rank ends with its rows, each written once, in the documented order.
// Where ranks touch each other's memory: a step reads only what its owner has announced for the
// group, or what kernels have stored before the counter is at its target, and a sum has every
// rank's part once. Requires a plan in which the parts above found nothing.
void verify_steps(const Plan& plan, const Traffic& traffic, Findings& findings);

// The same for AllGather: every rank ends with all rows of A, each written once, in natural order.
// Checks the tile tables of the other ranks, too, which differ: every tile waits for the group that
// brings the last of the rows it reads.
void verify_gather(const Plan& plan, const Traffic& traffic, Findings& findings);

// Types, epilogue, consumer and tensor maps.
void verify_operands(const Plan& plan, Findings& findings);

}  // namespace tilepost
