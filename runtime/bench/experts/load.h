// How tokens are spread over experts in measurements, and which rows each rank has then. Every rank
// makes the ids of all ranks from one seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost::bench {

// What the option --load chooses.
enum class ExpertLoad {
  random,      // every token chooses different experts at random
  even,        // all experts have equally many rows, as far as they divide
  one_expert,  // half of all tokens choose expert 0; without tokens, half of all rows are its own
  one_rank     // rank 0 has twice as many rows as each other rank; random on one rank
};

// Sets `load` to the load of this name. Returns false if there is none.
bool find_load(const std::string& name, ExpertLoad& load);

// The routes of a rank's tokens, [tokens, top]: experts of all ranks, and the weight of each.
// Weights are whole numbers from 1 to 3, so that sums of whole numbers stay exact.
struct TokenIds {
  int tokens = 0;
  std::vector<int32_t> ids;
  std::vector<float> weights;
};
// [ranks] the tokens of a run of the plan's m, of a plan by which tokens go to experts.
std::vector<TokenIds> draw_tokens(const tilepost_plan_t& plan, ExpertLoad load, uint64_t seed);

// [experts] the row behind the last one of each expert, of a plan whose m rows lie by expert.
std::vector<int32_t> draw_ends(const tilepost_plan_t& plan, ExpertLoad load, uint64_t seed);

// The rows of a rank.
struct RankRows {
  std::vector<int32_t> ends;    // [experts] the row behind the last one of each expert
  std::vector<int32_t> tokens;  // [rows] each row's token among those of all ranks, where every
                                // rank has room for a share of m
  std::vector<float> weights;   // [rows] the weight of each row's route

  int64_t count() const { return ends.empty() ? 0 : ends.back(); }
};
// The rows in the order of a routing (tilepost/routing.h), found by sorting.
RankRows sort_rows(const tilepost_plan_t& plan, const std::vector<TokenIds>& all, int rank);

// The rows of one rank by their tokens, [ranks * share, top]: those of a token in their order, then
// -1, with weight 0.
struct TokenRows {
  std::vector<int32_t> rows;
  std::vector<float> weights;
};
TokenRows rows_of_tokens(const tilepost_plan_t& plan, const RankRows& rows);

}  // namespace tilepost::bench
