// Every rank ends with the rows of A that are for it, by source and then in the source's order.
#include <fmt/format.h>

#include "generator/plan/verify/arrivals.h"

namespace tilepost {
namespace {

// Whether the rows that `source` has for a rank lie together, from row `from` on. They lie in the
// source's A or, where rows are first put in the order of the ranks they go to, in that order.
bool lie_together(const Traffic& traffic, int source, int rank, int64_t from) {
  for (const Traffic::Run& run : traffic.sent[source][rank]) {
    if (traffic.orders.empty() && run.m != from) return false;
    for (int64_t i = 0; !traffic.orders.empty() && i < run.rows; ++i)
      if (traffic.orders[source][from + i] != run.m + i) return false;
    from += run.rows;
  }
  return true;
}

void follow(const Plan& plan, const Traffic& traffic, Findings& findings) {
  RowBlocks arrivals;
  arrivals.in_parts = true;
  std::vector<int64_t> received(plan.ranks, 0);
  for (int source = 0; source < plan.ranks; ++source) {
    int64_t from = 0;
    arrivals.blocks.emplace_back();
    for (int rank = 0; rank < plan.ranks; ++rank) {
      int64_t rows = 0;
      for (const Traffic::Run& run : traffic.sent[source][rank]) rows += run.rows;
      if (!lie_together(traffic, source, rank, from))
        return findings.add(fmt::format("rank {0}: its rows for rank {1} are not those from {2} on",
                                        source, rank, from));
      arrivals.blocks.back().push_back({from, received[rank], rows});
      from += rows;
      received[rank] += rows;
    }
  }
  for (int rank = 0; rank < plan.ranks; ++rank)
    if (received[rank] > plan.map.m)
      findings.add(fmt::format("rank {0} receives {1} rows of at most {2}", rank, received[rank],
                               plan.map.m));
  follow_arrivals(plan, traffic, arrivals, findings);
}

}  // namespace

const PatternCheck kAllToAllGemmCheck = {division_of_arrivals, pushes_arrivals, nullptr, follow};

}  // namespace tilepost
