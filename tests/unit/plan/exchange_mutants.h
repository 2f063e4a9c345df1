// Plans whose ranks exchange data, and ways to change their steps.
#pragma once

#include <functional>

#include "generator/plan/verify/traffic.h"
#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {

constexpr int kRanks = 3;

inline Plan subject(tilepost_pattern_t pattern, tilepost_division_t division,
                    std::vector<int32_t> cuts, bool overlaps = true,
                    tilepost_routing_t routing = TILEPOST_ROUTING_EVEN, int64_t m = 17,
                    tilepost_access_t access = TILEPOST_ACCESS_MESSAGES, int stagger = 0,
                    bool pushes = false, int64_t rows_sent = 0) {
  SmallPlan small;
  small.rows_sent = rows_sent;
  small.pushes = pushes;
  small.access = access, small.stagger = stagger;
  small.m = m, small.n = 8, small.tile_m = 2, small.tile_n = 3;  // ragged in rows and columns
  small.cluster = 2, small.band = 4, small.gemm_ctas = 2;
  small.ranks = kRanks;
  small.pattern = pattern, small.division = division, small.routing = routing;
  small.overlaps = overlaps;
  if (division == TILEPOST_DIVISION_COLUMNS) small.layout = TILEPOST_TILE;
  small.cuts = std::move(cuts);
  return build_plan(small);
}

// Shares of 6, 6 and 5 rows, of three tile rows each.
inline Plan scattered() {
  return subject(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_DIVISION_SHARES, {1, 3});
}
inline Plan columns() {
  return subject(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_DIVISION_COLUMNS, {1, 3});
}
inline Plan gathered(int64_t m = 17) {
  return subject(TILEPOST_ALL_GATHER_GEMM, TILEPOST_DIVISION_ARRIVALS, {0, 1, 3}, true,
                 TILEPOST_ROUTING_EVEN, m);
}

// Routed rows of A. Each rank has `sent` rows. With counts or a table one rank receives 23 rows,
// more than the others.
inline Plan dispatched(tilepost_routing_t routing,
                       tilepost_access_t access = TILEPOST_ACCESS_MESSAGES, int64_t sent = 17) {
  const bool even = routing == TILEPOST_ROUTING_EVEN;
  const int64_t m = even ? (sent + kRanks - 1) / kRanks * kRanks : 23;
  const int32_t share = static_cast<int32_t>(((m + kRanks - 1) / kRanks + 1) / 2);  // tiles of 2
  return subject(TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_DIVISION_ARRIVALS,
                 access == TILEPOST_ACCESS_READ
                     ? std::vector<int32_t>{0, 1, share + 1, share * (kRanks - 1)}
                     : std::vector<int32_t>{0, 1, share},
                 true, routing, m, access, 0, false, sent);
}
// Routed rows of A, like those of dispatched(), in a plan without overlap.
inline Plan dispatched_at_once(tilepost_routing_t routing) {
  const int64_t m = routing == TILEPOST_ROUTING_EVEN ? 18 : 23;
  return subject(TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_DIVISION_ROWS,
                 {static_cast<int32_t>((m + 1) / 2)}, false, routing, m, TILEPOST_ACCESS_MESSAGES,
                 0, false, 17);
}

// Ranks that read or write each other's memory.
inline Plan shared(tilepost_access_t access, tilepost_pattern_t pattern,
                   tilepost_routing_t routing = TILEPOST_ROUTING_EVEN, int64_t m = 17) {
  const bool rows = routing == TILEPOST_ROUTING_ROWS;
  return subject(pattern, rows ? TILEPOST_DIVISION_ROWS : TILEPOST_DIVISION_SHARES,
                 rows ? std::vector<int32_t>{4, 9} : std::vector<int32_t>{1, 3}, true, routing, m,
                 access, rows ? 0 : 4);
}

inline std::vector<Plan> shared_subjects() {
  std::vector<Plan> plans;
  for (const tilepost_access_t access : {TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE})
    for (const tilepost_pattern_t pattern :
         {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL}) {
      plans.push_back(shared(access, pattern));
      plans.push_back(shared(access, pattern, TILEPOST_ROUTING_EVEN, 13));  // 5, 5 and 3 rows
    }
  for (const tilepost_routing_t routing : {TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
    plans.push_back(shared(TILEPOST_ACCESS_READ, TILEPOST_GEMM_ALL_TO_ALL, routing));
  for (const tilepost_access_t access : {TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE})
    for (const int64_t m : {17, 13})
      plans.push_back(subject(TILEPOST_ALL_GATHER_GEMM, TILEPOST_DIVISION_ARRIVALS,
                              access == TILEPOST_ACCESS_READ ? std::vector<int32_t>{0, 1, 4, 6}
                                                             : std::vector<int32_t>{0, 1, 3},
                              true, TILEPOST_ROUTING_EVEN, m, access));
  for (const tilepost_routing_t routing :
       {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
    plans.push_back(dispatched(routing, TILEPOST_ACCESS_READ));
  for (const int64_t sent : {17, 13})
    plans.push_back(dispatched(TILEPOST_ROUTING_EVEN, TILEPOST_ACCESS_WRITE, sent));
  for (const int64_t m : {17, 13})
    plans.push_back(subject(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_DIVISION_SHARES, {1, 3}, true,
                            TILEPOST_ROUTING_EVEN, m, TILEPOST_ACCESS_WRITE, 4, true));
  return plans;
}

inline std::vector<Plan> subjects() {
  std::vector<Plan> plans = shared_subjects();
  for (const tilepost_routing_t routing :
       {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
    const tilepost_division_t panel =
        routing == TILEPOST_ROUTING_ROWS ? TILEPOST_DIVISION_ROWS : TILEPOST_DIVISION_SHARES;
    const std::vector<int32_t> cuts =
        routing == TILEPOST_ROUTING_ROWS ? std::vector<int32_t>{4, 9} : std::vector<int32_t>{1, 3};
    plans.push_back(subject(TILEPOST_GEMM_ALL_TO_ALL, panel, cuts, true, routing));
    plans.push_back(
        subject(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_DIVISION_COLUMNS, {1, 3}, true, routing));
    plans.push_back(subject(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_DIVISION_ROWS, {9}, false, routing));
    plans.push_back(dispatched(routing));
    plans.push_back(dispatched_at_once(routing));
  }
  plans.push_back(scattered());
  plans.push_back(columns());
  plans.push_back(subject(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_DIVISION_ROWS, {9}, false));
  plans.push_back(subject(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_DIVISION_ROWS, {4, 9}));
  plans.push_back(gathered());
  // With equal shares, a group of whole shares is an AllGather, and a group of parts is not.
  plans.push_back(gathered(18));
  plans.push_back(subject(TILEPOST_ALL_GATHER_GEMM, TILEPOST_DIVISION_ARRIVALS, {0, 3}, true,
                          TILEPOST_ROUTING_EVEN, 18));
  plans.push_back(subject(TILEPOST_ALL_GATHER_GEMM, TILEPOST_DIVISION_ROWS, {9}, false));
  return plans;
}

inline std::string name(const Plan& plan) {
  return std::string(name_of(plan.pattern)) + " " + name_of(plan.planned_transport) + " " +
         name_of(plan.routing) + " division " +
         std::to_string(static_cast<int>(plan.map.division)) + " m " + std::to_string(plan.map.m) +
         (plan.pushes ? ", pushes" : "");
}

inline void require_caught(Plan plan, const char* words, const std::function<void(Plan&)>& mutate) {
  REQUIRE(join(verify_plan(plan)) == "");
  mutate(plan);
  plan.map_hash = hash_tile_map(plan.tile_map());
  const std::string text = join(verify_plan(plan));
  INFO(name(plan) << ": " << text);
  REQUIRE(text.find(words) != std::string::npos);
}

// The findings for the traffic of `plan` after `change` has changed the steps of each group.
using Change = std::function<void(int group, int rank, std::vector<Step>&)>;
inline std::string follow(const Plan& plan, const Change& change) {
  TrafficMemory memory;
  Traffic traffic = traffic_of(plan, memory);
  traffic.steps = [&, steps = traffic.steps](int group, int rank) {
    std::vector<Step> changed = steps(group, rank);
    change(group, rank, changed);
    return changed;
  };
  Findings findings;
  check_of(plan).follow(plan, traffic, findings);
  return join(findings.take());
}

// The number of elements in a row of what the step moves.
inline int64_t width(const Plan& plan) {
  if (row_of(plan).moves_input()) return plan.k;
  return plan.map.layout == TILEPOST_PANEL ? plan.map.n : plan.map.tile_n;
}

struct Mutation {
  const char* what;
  bool (*applies)(StepKind);
  void (*apply)(Step&, int64_t row);
};

inline bool sends(StepKind kind) {
  return kind == StepKind::send || kind == StepKind::send_rows || kind == StepKind::send_own_rows;
}
inline bool receives(StepKind kind) {
  return kind == StepKind::receive || kind == StepKind::receive_rows;
}
inline bool always(StepKind) {
  return true;
}
// Whether a step concerns memory of another rank, or this rank's memory for others. Then every
// field must be right, even if the step does not use it.
inline bool shares(StepKind kind) {
  return kind >= StepKind::announce;
}
inline bool has_peer(StepKind kind) {
  return sends(kind) || receives(kind) || shares(kind);
}
inline bool has_from(StepKind kind) {
  return !receives(kind);
}
inline bool has_to(StepKind kind) {
  return !sends(kind);
}
inline bool keeps(StepKind kind) {
  return kind == StepKind::reduce_scatter || shares(kind);
}

inline const Mutation kMutations[] = {
    {"peer", has_peer, [](Step& s, int64_t) { s.peer = (s.peer + 1) % kRanks; }},
    {"peer out of range", has_peer, [](Step& s, int64_t) { s.peer = kRanks; }},
    {"from a row on", has_from, [](Step& s, int64_t row) { s.from += row; }},
    {"from a row back", has_from, [](Step& s, int64_t row) { s.from -= row; }},
    {"from an element on", has_from, [](Step& s, int64_t) { s.from += 1; }},
    {"to a row on", has_to, [](Step& s, int64_t row) { s.to += row; }},
    {"to a row back", has_to, [](Step& s, int64_t row) { s.to -= row; }},
    {"to an element on", has_to, [](Step& s, int64_t) { s.to += 1; }},
    {"a row more", always, [](Step& s, int64_t row) { s.count += row; }},
    {"a row fewer", always, [](Step& s, int64_t row) { s.count -= row; }},
    {"an element more", always, [](Step& s, int64_t) { s.count += 1; }},
    {"keeps a row more", keeps, [](Step& s, int64_t row) { s.keep += row; }},
    {"keeps a row fewer", keeps, [](Step& s, int64_t row) { s.keep -= row; }},
    {"from a row on in every slot", shares, [](Step& s, int64_t row) { s.from_slot += row; }},
    {"from a row back in every slot", shares, [](Step& s, int64_t row) { s.from_slot -= row; }},
    {"a kind of the other family", always,
     [](Step& s, int64_t) {
       s.kind = s.kind <= StepKind::receive ? StepKind::own_rows : StepKind::all_reduce;
     }},
};

}  // namespace tilepost::test
