#include "runtime/core/routing/routing.h"

#include <algorithm>
#include <cinttypes>
#include <limits>

#include "runtime/core/error.h"
#include "runtime/core/operands.h"
#include "tilepost/internal/expert_tiles.h"

namespace tilepost {
namespace {

constexpr size_t kTableAlignment = 256;

tilepost_result_t check_range(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "tilepost_routing_create: %s must be from %" PRId64 " to %" PRId64 ", got %" PRId64,
              name, least, most, value);
}

tilepost_result_t check_given(const char* name, const void* pointer, size_t element) {
  if (pointer == nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s is null; it may be null only where m is 0, and the rank has no tokens", name);
  return check_alignment(name, pointer, element);
}

}  // namespace

tilepost_result_t check_routing(const RoutingTerms& terms, int ranks, int rank,
                                RoutingShape& shape) {
  if (ranks > kMostRoutedRanks)
    return fail(TILEPOST_UNSUPPORTED,
                "tilepost_routing_create: the communicator has %d ranks; at most %d ranks route",
                ranks, kMostRoutedRanks);
  TILEPOST_TRY(check_range("top", terms.top, 1, kMostTop));
  const int64_t most_experts = std::min<int64_t>(int64_t{kMostExperts} * ranks, kMostRoutedExperts);
  TILEPOST_TRY(check_range("experts", terms.experts, 1, most_experts));
  if (terms.experts % ranks != 0)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_routing_create: %d ranks do not divide %d experts; each rank must have "
                "as many experts as the others",
                ranks, terms.experts);
  // Entries of the tables are counted in int32.
  const int64_t most = std::numeric_limits<int32_t>::max() / (int64_t{ranks} * terms.top);
  TILEPOST_TRY(check_range("most_tokens", terms.most_tokens, 1, most));
  shape = RoutingShape(terms.experts, terms.top, ranks, rank, static_cast<int>(terms.most_tokens));
  return TILEPOST_OK;
}

tilepost_result_t check_tokens(const RoutingTerms& terms, const void* ids, const void* weights,
                               int64_t m) {
  if (m < 0 || m > terms.most_tokens)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_routing_set: m must be from 0 to most_tokens, which is %" PRId64
                ", got %" PRId64,
                terms.most_tokens, m);
  if (m == 0) return TILEPOST_OK;
  TILEPOST_TRY(check_given("ids", ids, terms.wide_ids() ? sizeof(int64_t) : sizeof(int32_t)));
  return check_given("weights", weights, terms.half_weights() ? sizeof(int16_t) : sizeof(float));
}

tilepost_result_t report_fault(const RoutingFault& fault, int rank, double deadline_seconds) {
  if (fault.found == 0) return TILEPOST_OK;
  if (fault.found == kLateRankFound)
    return fail(TILEPOST_TIMEOUT,
                "rank %d: tilepost_routing_set: rank %d did not come to set %" PRId64
                " of the routing within %g s",
                rank, fault.rank, fault.id, deadline_seconds);
  return fail(TILEPOST_INVALID_ARGUMENT,
              "tilepost_routing_set: rank %d: token %d has the id %" PRId64
              "; ids are those of experts, from 0 on, and -1 for none: correct the router, and "
              "make a new routing",
              fault.rank, fault.token, fault.id);
}

RoutingLayout::RoutingLayout(const RoutingShape& shape) {
  size_t end = 0;
  const auto place = [&end](size_t count, size_t element) {
    const size_t begin = end;
    end += (count * element + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
    return begin;
  };
  const auto tokens_of_all = static_cast<size_t>(shape.ranks) * shape.most_tokens;
  const size_t routes = tokens_of_all * shape.top;
  expert_ends = place(shape.local_experts, sizeof(int32_t));
  row_tokens = place(routes, sizeof(int32_t));
  token_rows = place(routes, sizeof(int32_t));
  token_weights = place(routes, sizeof(float));
  token_ranks = place(shape.most_tokens, sizeof(uint32_t));
  tokens = place(shape.ranks, sizeof(int32_t));
  rank_rows = place(shape.ranks, sizeof(int32_t));
  bytes = end;
}

RoutingTables RoutingLayout::at(void* memory) const {
  const auto table = [memory](size_t begin) {
    return static_cast<void*>(static_cast<char*>(memory) + begin);
  };
  return {static_cast<int32_t*>(table(expert_ends)),  static_cast<int32_t*>(table(row_tokens)),
          static_cast<int32_t*>(table(token_rows)),   static_cast<float*>(table(token_weights)),
          static_cast<uint32_t*>(table(token_ranks)), static_cast<int32_t*>(table(tokens)),
          static_cast<int32_t*>(table(rank_rows))};
}

tilepost_routing_info_t info_of(const RoutingShape& shape, const RoutingTables& tables) {
  tilepost_routing_info_t info{};
  info.expert_ends = tables.expert_ends;
  info.row_tokens = tables.row_tokens;
  info.token_rows = tables.token_rows;
  info.token_weights = tables.token_weights;
  info.token_ranks = tables.token_ranks;
  info.tokens = tables.tokens;
  info.rank_rows = tables.rank_rows;
  info.most_rows = int64_t{shape.ranks} * shape.most_tokens * shape.top;
  return info;
}

}  // namespace tilepost
