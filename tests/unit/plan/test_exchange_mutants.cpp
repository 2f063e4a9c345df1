// verify_plan must notice what goes wrong between ranks: mutants of divisions, and of every field
// of every step.
#include <functional>

#include "generator/plan/verify_parts.h"
#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

constexpr int kRanks = 3;

Plan subject(Pattern pattern, Division division, std::vector<int32_t> cuts, bool overlaps = true,
             Routing routing = Routing::even, int64_t m = 17) {
  SmallPlan small;
  small.m = m, small.n = 8, small.tile_m = 2, small.tile_n = 3;  // ragged both ways
  small.cluster = 2, small.band = 4, small.gemm_ctas = 2;
  small.ranks = kRanks;
  small.pattern = pattern, small.division = division, small.routing = routing;
  small.overlaps = overlaps;
  if (division == Division::columns) small.layout = OutputLayout::tile;
  small.cuts = std::move(cuts);
  return build_plan(small);
}

// Shares of 6, 6 and 5 rows: three tile rows of each.
Plan scattered() {
  return subject(Pattern::gemm_reduce_scatter, Division::shares, {1, 3});
}
Plan columns() {
  return subject(Pattern::gemm_reduce_scatter, Division::columns, {1, 3});
}
Plan gathered(int64_t m = 17) {
  return subject(Pattern::all_gather_gemm, Division::arrivals, {0, 1, 3}, true, Routing::even, m);
}

std::vector<Plan> subjects() {
  std::vector<Plan> plans;
  for (const Routing routing : {Routing::even, Routing::splits, Routing::rows}) {
    const Division panel = routing == Routing::rows ? Division::rows : Division::shares;
    const std::vector<int32_t> cuts =
        routing == Routing::rows ? std::vector<int32_t>{4, 9} : std::vector<int32_t>{1, 3};
    plans.push_back(subject(Pattern::gemm_all_to_all, panel, cuts, true, routing));
    plans.push_back(subject(Pattern::gemm_all_to_all, Division::columns, {1, 3}, true, routing));
    plans.push_back(subject(Pattern::gemm_all_to_all, Division::rows, {9}, false, routing));
  }
  plans.push_back(scattered());
  plans.push_back(columns());
  plans.push_back(subject(Pattern::gemm_reduce_scatter, Division::rows, {9}, false));
  plans.push_back(subject(Pattern::gemm_all_reduce, Division::rows, {4, 9}));
  plans.push_back(gathered());
  plans.push_back(gathered(18));  // equal shares: one chunk is no AllGather, all of it is
  plans.push_back(
      subject(Pattern::all_gather_gemm, Division::arrivals, {0, 3}, true, Routing::even, 18));
  plans.push_back(subject(Pattern::all_gather_gemm, Division::rows, {9}, false));
  return plans;
}

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string name(const Plan& plan) {
  return std::string(name_of(plan.pattern)) + " " + name_of(plan.routing) + " division " +
         std::to_string(static_cast<int>(plan.division)) + " m " + std::to_string(plan.m);
}

void require_caught(Plan plan, const char* words, const std::function<void(Plan&)>& mutate) {
  REQUIRE(join(verify_plan(plan)) == "");
  mutate(plan);
  plan.map_hash = hash_tile_map(plan.map);
  const std::string text = join(verify_plan(plan));
  INFO(name(plan) << ": " << text);
  REQUIRE(text.find(words) != std::string::npos);
}

// What following the traffic finds when `change` has been at the steps of a group.
using Change = std::function<void(int group, int rank, std::vector<Step>&)>;
std::string follow(const Plan& plan, const Change& change) {
  TrafficMemory memory;
  Traffic traffic = traffic_of(plan, memory);
  traffic.steps = [&, steps = traffic.steps](int group, int rank) {
    std::vector<Step> changed = steps(group, rank);
    change(group, rank, changed);
    return changed;
  };
  Findings findings;
  if (plan.pattern == Pattern::all_gather_gemm)
    verify_gather(plan, traffic, findings);
  else
    verify_steps(plan, traffic, findings);
  return join(findings.take());
}

// Elements that belong together: a row of what the step moves.
int64_t width(const Plan& plan) {
  if (plan.pattern == Pattern::all_gather_gemm) return plan.k;
  return plan.layout == OutputLayout::panel ? plan.n : plan.kernel.tile_n;
}

struct Mutation {
  const char* what;
  bool (*applies)(StepKind);
  void (*apply)(Step&, int64_t row);
};

bool sends(StepKind kind) {
  return kind == StepKind::send || kind == StepKind::send_rows;
}
bool receives(StepKind kind) {
  return kind == StepKind::receive || kind == StepKind::receive_rows;
}
bool always(StepKind) {
  return true;
}
bool has_peer(StepKind kind) {
  return sends(kind) || receives(kind);
}
bool has_from(StepKind kind) {
  return !receives(kind);
}
bool has_to(StepKind kind) {
  return !sends(kind);
}
bool keeps(StepKind kind) {
  return kind == StepKind::reduce_scatter;
}

const Mutation kMutations[] = {
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
    {"a kind of the other family", always,
     [](Step& s, int64_t) {
       s.kind = s.kind <= StepKind::receive ? StepKind::own_rows : StepKind::all_reduce;
     }},
};

TEST_CASE("the exchanging subjects are correct") {
  for (const Plan& plan : subjects()) {
    INFO(name(plan));
    REQUIRE(join(verify_plan(plan)) == "");
    REQUIRE(follow(plan, [](int, int, std::vector<Step>&) {}) == "");
  }
}

TEST_CASE("caught: any field of any step of one rank, or a step too few or too many") {
  int mutants = 0;
  for (const Plan& plan : subjects())
    for (int g = 0; g < static_cast<int>(plan.cuts.size()); ++g)
      for (int rank = 0; rank < kRanks; ++rank) {
        TrafficMemory memory;
        const std::vector<Step> steps = traffic_of(plan, memory).steps(g, rank);
        for (size_t i = 0; i < steps.size(); ++i) {
          const auto caught = [&](const char* what,
                                  const std::function<void(std::vector<Step>&)>& mutate) {
            ++mutants;
            INFO(name(plan) << ", group " << g << ", rank " << rank << ", step " << i << ": "
                            << what);
            REQUIRE(follow(plan, [&](int at, int on, std::vector<Step>& changed) {
                      if (at == g && on == rank) mutate(changed);
                    }) != "");
          };
          caught("missing", [&](std::vector<Step>& s) { s.erase(s.begin() + i); });
          caught("twice", [&](std::vector<Step>& s) { s.push_back(s[i]); });
          for (const Mutation& mutation : kMutations)
            if (mutation.applies(steps[i].kind))
              caught(mutation.what,
                     [&](std::vector<Step>& s) { mutation.apply(s[i], width(plan)); });
        }
      }
  REQUIRE(mutants > 1000);
}

TEST_CASE("caught: a collective call that is wrong on all ranks alike") {
  int mutants = 0;
  for (const Plan& plan : subjects())
    for (const Mutation& mutation : kMutations) {
      bool changed_any = false;
      const std::string text = follow(plan, [&](int g, int, std::vector<Step>& changed) {
        if (g + 1 != static_cast<int>(plan.cuts.size())) return;
        for (Step& step : changed) {
          const bool collective = step.kind == StepKind::all_reduce ||
                                  step.kind == StepKind::reduce_scatter ||
                                  step.kind == StepKind::all_gather;
          if (!collective || !mutation.applies(step.kind)) continue;
          mutation.apply(step, width(plan));
          changed_any = true;
        }
      });
      if (!changed_any) continue;
      ++mutants;
      INFO(name(plan) << ": " << mutation.what);
      REQUIRE(text != "");
    }
  REQUIRE(mutants > 20);
}

TEST_CASE("caught: two sends to one rank change places") {
  const Plan plan = subject(Pattern::gemm_all_to_all, Division::columns, {3});
  const std::string text = follow(plan, [](int, int rank, std::vector<Step>& steps) {
    std::vector<size_t> to_one;
    for (size_t i = 0; i < steps.size(); ++i)
      if (rank == 0 && steps[i].kind == StepKind::send && steps[i].peer == 1) to_one.push_back(i);
    if (to_one.size() > 1) std::swap(steps[to_one[0]], steps[to_one[1]]);
  });
  REQUIRE(text.find("comes from row") != std::string::npos);
}

TEST_CASE("caught: a step before its group is finished") {
  const Plan plan = scattered();
  const std::string text = follow(plan, [&](int g, int, std::vector<Step>& steps) {
    if (g == 0) steps[0].from = plan.map.groups[1].offset;
  });
  REQUIRE(text.find("reads beyond its group") != std::string::npos);
}

TEST_CASE("caught: memory that is smaller or larger than what steps need") {
  for (const Plan& plan : subjects()) {
    if (plan.pattern == Pattern::all_gather_gemm) continue;
    for (const int64_t more : {-1, 1}) {
      TrafficMemory memory;
      Traffic traffic = traffic_of(plan, memory);
      traffic.received[1] += more * width(plan);
      Findings findings;
      verify_steps(plan, traffic, findings);
      INFO(name(plan));
      REQUIRE(join(findings.take()).find("elements are received") != std::string::npos);
    }
  }
  const Plan plan = subject(Pattern::gemm_reduce_scatter, Division::rows, {9}, false);
  TrafficMemory memory;
  Traffic traffic = traffic_of(plan, memory);
  traffic.buffer = plan.map.send_elements;  // without the row that fills the last share
  Findings findings;
  verify_steps(plan, traffic, findings);
  REQUIRE(join(findings.take()).find("reads beyond its group") != std::string::npos);
}

TEST_CASE("caught: a tile in another share's part, or in another slab") {
  require_caught(scattered(), "a tile starts at row", [](Plan& plan) {
    for (tilepost_tile_t& tile : plan.map.tiles)
      if (tile.row == 0) tile.row = 2;
  });
  require_caught(scattered(), "a tile starts at row", [](Plan& plan) {
    std::vector<tilepost_tile_t>& tiles = plan.map.tiles;
    std::swap(tiles[0].row, tiles[1].row);
  });
  require_caught(columns(), "a tile starts at row", [](Plan& plan) {
    plan.map.tiles[0].row += static_cast<int32_t>(plan.map.send_elements / 3 / 3);
  });
  require_caught(columns(), "no room for 3 shares", [](Plan& plan) {
    plan.map.send_elements = int64_t{3} * 3 * 17;  // 17 rows, three shares are 18
  });
}

TEST_CASE("caught: groups that are no equal parts, or no whole slabs") {
  const auto hand_over = [](Plan& plan) {  // a tile row of one share
    const int64_t elements = plan.kernel.tile_m * plan.n;
    plan.map.groups[0].count += elements;
    plan.map.groups[1].offset += elements;
    plan.map.groups[1].count -= elements;
  };
  require_caught(scattered(), "not a block of whole rows", hand_over);
  require_caught(columns(), "not a block of whole rows", hand_over);
  require_caught(scattered(), "cut", [](Plan& plan) { ++plan.cuts[0]; });
  require_caught(columns(), "cut", [](Plan& plan) { ++plan.cuts[0]; });
}

// Positions a and b exchange what they compute, and nothing else.
void exchange(Plan& plan, size_t a, size_t b) {
  std::vector<tilepost_tile_t>& tiles = plan.map.tiles;
  std::swap(tiles[a], tiles[b]);
  std::swap(tiles[a].group, tiles[b].group);
  for (int32_t& position : plan.map.positions)
    if (position == static_cast<int32_t>(a))
      position = static_cast<int32_t>(b);
    else if (position == static_cast<int32_t>(b))
      position = static_cast<int32_t>(a);
}

TEST_CASE("caught: a tile that waits for too little") {
  for (const int64_t m : {17, 18})
    require_caught(gathered(m), "the last of them arrive with group", [](Plan& plan) {
      std::vector<tilepost_tile_t>& tiles = plan.map.tiles;
      const auto late = static_cast<size_t>(plan.map.groups[2].first_tile);
      for (size_t t = 0; t < late; ++t)
        if (tiles[t].group == 0 && tiles[t].n == tiles[late].n && tiles[t].row >= 0)
          return exchange(plan, t, late);
    });
}

TEST_CASE("caught: an arrival that raises its counter twice, sends a block or is of other rows") {
  require_caught(gathered(), "its arrival raises the counter 1 times",
                 [](Plan& plan) { plan.map.groups[1].target = 2; });
  require_caught(gathered(), "sends a block", [](Plan& plan) { plan.map.groups[1].count = 8; });
  require_caught(gathered(), "of a row-major output",
                 [](Plan& plan) { plan.map.tiles[0].row += 2; });
  require_caught(gathered(), "do not come in order", [](Plan& plan) {
    plan.comm_lanes = 2;
    plan.comm_ctas = 2;
    ++plan.sms;
  });
  require_caught(gathered(), "the last of them arrive with group",
                 [](Plan& plan) { ++plan.cuts[1]; });
}

TEST_CASE("caught: chunks that arrive in another order than the cuts say") {
  const Plan plan = gathered();
  TrafficMemory memory;
  Traffic traffic = traffic_of(plan, memory);
  traffic.steps = [steps = traffic.steps](int g, int rank) {
    return steps(g == 0 ? 0 : 3 - g, rank);
  };
  Findings findings;
  verify_gather(plan, traffic, findings);
  REQUIRE(join(findings.take()).find("whose cuts say otherwise") != std::string::npos);
}

TEST_CASE("caught: cluster-mates of two groups") {
  require_caught(scattered(), "cluster-mates", [](Plan& plan) {
    std::vector<tilepost_group_t>& groups = plan.map.groups;
    --groups[0].num_tiles, --groups[0].target;
    --groups[1].first_tile, ++groups[1].num_tiles, ++groups[1].target;
    plan.map.tiles[groups[1].first_tile].group = 1;
  });
}

TEST_CASE("caught: an entry of the inverse for rows that are not there") {
  // Shares of 2, 2 and 1 rows of 5 in tiles of 2 leave none out; 7 ranks of 5 rows do.
  SmallPlan small;
  small.m = 5, small.n = 2, small.tile_m = 1, small.tile_n = 2, small.ranks = 7;
  small.pattern = Pattern::gemm_all_to_all, small.division = Division::shares;
  small.cuts = {1};
  require_caught(build_plan(small), "no tile is at entry 6 of the inverse",
                 [](Plan& plan) { plan.map.positions[6] = 0; });
}

TEST_CASE("caught: what does not go with the pattern") {
  require_caught(scattered(), "division", [](Plan& plan) { plan.division = Division::rows; });
  require_caught(gathered(), "division", [](Plan& plan) { plan.transport = Transport::none; });
  require_caught(scattered(), "epilogue", [](Plan& plan) { plan.epilogue = TILEPOST_GELU; });
  require_caught(scattered(), "consumer unpermute",
                 [](Plan& plan) { plan.consumer = Consumer::unpermute; });
  require_caught(gathered(), "consumer rms_norm",
                 [](Plan& plan) { plan.consumer = Consumer::rms_norm; });
  require_caught(gathered(), "routing rows", [](Plan& plan) { plan.routing = Routing::rows; });
}

}  // namespace
}  // namespace tilepost::test
