#include "tests/host/variants.h"

namespace {

// Adds the variants whose ranks read or write each other's memory.
void add_shared_variants(std::vector<Variant>& variants) {
  const auto add = [&](tilepost_access_t access, tilepost_pattern_t pattern,
                       tilepost_consumer_t consumer = TILEPOST_CONSUMER_NONE,
                       tilepost_routing_t routing = TILEPOST_ROUTING_EVEN, bool pushes = false) {
    variants.push_back(
        {pattern, TILEPOST_PANEL, consumer, TILEPOST_TRANSPORT_HOST, routing, access, pushes});
  };
  for (const auto access : {TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE}) {
    for (const auto consumer :
         {TILEPOST_CONSUMER_NONE, TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM})
      for (const auto pattern : {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER})
        add(access, pattern, consumer);
    add(access, TILEPOST_GEMM_ALL_TO_ALL);
  }
  for (const auto routing : {TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
    add(TILEPOST_ACCESS_READ, TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_CONSUMER_NONE, routing);
  const auto push = [&](tilepost_pattern_t pattern, tilepost_consumer_t consumer,
                        tilepost_access_t access = TILEPOST_ACCESS_WRITE,
                        tilepost_routing_t routing = TILEPOST_ROUTING_EVEN) {
    add(access, pattern, consumer, routing, true);
  };
  for (const auto consumer :
       {TILEPOST_CONSUMER_NONE, TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM})
    push(TILEPOST_GEMM_ALL_REDUCE, consumer);
  for (const auto pattern : {TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM})
    for (const auto access : {TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE})
      push(pattern, TILEPOST_CONSUMER_NONE, access);
  for (const auto routing : {TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
    push(TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_CONSUMER_NONE, TILEPOST_ACCESS_READ, routing);
}

// Adds the variants whose kernels exchange tiles or rows of A.
void add_exchanged_variants(std::vector<Variant>& variants) {
  const auto add = [&](tilepost_pattern_t pattern, tilepost_shots_t shots, bool pushes = false,
                       tilepost_consumer_t consumer = TILEPOST_CONSUMER_NONE) {
    variants.push_back({pattern, TILEPOST_PANEL, consumer, TILEPOST_TRANSPORT_HOST,
                        TILEPOST_ROUTING_EVEN, TILEPOST_ACCESS_TILES, pushes, false, shots});
  };
  for (const auto pattern :
       {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL})
    for (const auto shots : {TILEPOST_ONE_SHOT, TILEPOST_ONE_SHOT_LINES}) add(pattern, shots);
  add(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TWO_SHOT, true);
  add(TILEPOST_ALL_GATHER_GEMM, TILEPOST_ONE_SHOT, true);
  add(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TWO_SHOT, true, TILEPOST_CONSUMER_RMS_NORM);
  add(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_ONE_SHOT, false, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM);
  add(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_ONE_SHOT_LINES, false, TILEPOST_CONSUMER_RMS_NORM);
}

// Adds the variants in which rows of A move beside neighbours, and the kernel is launched for each
// group.
void add_launched_variants(std::vector<Variant>& variants) {
  const auto add = [&](tilepost_pattern_t pattern, tilepost_access_t access,
                       tilepost_routing_t routing = TILEPOST_ROUTING_EVEN) {
    variants.push_back({pattern, TILEPOST_PANEL, TILEPOST_CONSUMER_NONE, TILEPOST_TRANSPORT_HOST,
                        routing, access, access == TILEPOST_ACCESS_READ, true});
  };
  add(TILEPOST_ALL_GATHER_GEMM, TILEPOST_ACCESS_MESSAGES);
  add(TILEPOST_ALL_GATHER_GEMM, TILEPOST_ACCESS_READ);
  add(TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_ACCESS_MESSAGES, TILEPOST_ROUTING_ROWS);
  add(TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_ACCESS_READ, TILEPOST_ROUTING_SPLITS);
}

}  // namespace

std::vector<Variant> all_variants() {
  std::vector<Variant> variants;
  add_shared_variants(variants);
  add_exchanged_variants(variants);
  add_launched_variants(variants);
  for (const auto transport : {TILEPOST_TRANSPORT_HOST, TILEPOST_TRANSPORT_NONE})
    for (const auto layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
      const auto plain =
          layout == TILEPOST_PANEL ? TILEPOST_CONSUMER_NONE : TILEPOST_CONSUMER_UNPERMUTE;
      if (layout == TILEPOST_PANEL)
        variants.push_back({TILEPOST_ALL_GATHER_GEMM, layout, plain, transport});
      for (const auto consumer :
           {plain, TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM}) {
        for (const auto pattern : {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER})
          variants.push_back({pattern, layout, consumer, transport});
        if (transport == TILEPOST_TRANSPORT_NONE)
          variants.push_back({TILEPOST_GEMM, layout, consumer, transport});
      }
      if (layout == TILEPOST_TILE)
        variants.push_back(
            {TILEPOST_GEMM_REDUCE_SCATTER, layout, TILEPOST_CONSUMER_NONE, transport});
      for (const auto routing :
           {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
        if (layout == TILEPOST_PANEL)
          variants.push_back({TILEPOST_ALL_TO_ALL_GEMM, layout, plain, transport, routing});
        if (layout == TILEPOST_TILE && routing == TILEPOST_ROUTING_ROWS) continue;
        variants.push_back({TILEPOST_GEMM_ALL_TO_ALL, layout, plain, transport, routing});
        if (layout == TILEPOST_TILE)
          variants.push_back(
              {TILEPOST_GEMM_ALL_TO_ALL, layout, TILEPOST_CONSUMER_NONE, transport, routing});
      }
    }
  return variants;
}

Problem make(const Variant& variant, int ranks, uint64_t seed) {
  Problem problem;
  problem.pattern = variant.pattern;
  problem.layout = variant.layout;
  problem.consumer = variant.consumer;
  problem.transport = variant.transport;
  problem.routing = variant.routing;
  problem.ranks = ranks;
  problem.type = seed % 2 ? TILEPOST_BF16 : TILEPOST_F16;
  problem.cluster = 1 + static_cast<int>(seed / 2 % 2);
  problem.groups = 1 + static_cast<int>(seed % 4);
  problem.access = variant.access;
  problem.pushes = variant.pushes;
  problem.neighbours = variant.neighbours;
  problem.shots = variant.shots;
  if (ranks == 1 && variant.access == TILEPOST_ACCESS_TILES) {  // there is no rank to exchange with
    problem.access = TILEPOST_ACCESS_MESSAGES;
    problem.shots = TILEPOST_SHOTS_NONE;
    problem.pushes = false;
  }
  problem.stagger = static_cast<int>(seed / 4 % 3) * 2;
  return problem;
}

void bound_received(Problem& problem, uint64_t seed) {
  if (!problem.routed() || !problem.row().input_is_routed()) return;
  const int64_t bounds[] = {0, problem.m, problem.m + 1 + problem.m / 4,
                            problem.any_m ? (problem.m + 2) / 3 : 0};
  problem.most_received = std::min(bounds[seed % 4], problem.m * problem.ranks);
}

std::string describe(const Problem& problem) {
  return "pattern " + std::to_string(problem.pattern) + " layout " +
         std::to_string(problem.layout) + " consumer " + std::to_string(problem.consumer) +
         " transport " + std::to_string(problem.transport) + " routing " +
         std::to_string(problem.routing) + " ranks " + std::to_string(problem.ranks) + " m " +
         std::to_string(problem.m) + " n " + std::to_string(problem.n) + " groups " +
         std::to_string(problem.groups) + " cluster " + std::to_string(problem.cluster) +
         " access " + std::to_string(problem.access) + " stagger " +
         std::to_string(problem.stagger) + " shots " + std::to_string(problem.shots) +
         (problem.pushes ? ", pushes" : "") + (problem.neighbours ? ", beside neighbours" : "") +
         (problem.most_received > 0 ? " receives " + std::to_string(problem.most_received) : "");
}
