// Runs whose tokens go to experts. Before the workers start, the communicating thread checks how
// many rows ranks have, and where tokens are gathered makes the list of tile rows from the tables
// of the routing to which the operation is bound.
#include "runtime/core/routing/routing.h"
#include "runtime/host/op.h"
#include "runtime/schedule/token_groups.h"
#include "tilepost/host/token_list.h"

namespace tilepost {

void HostOp::set_tokens(const Request& request, tilepost_view_t& view) const {
  tilepost_routing_info_t tables{};
  routing_->get_info(tables);
  view.expert_ends = tables.expert_ends;
  view.row_tokens = tables.row_tokens;
  view.token_tiles = token_tiles_.data();
  view.most_tokens = routing_->shape().most_tokens;
  view.token_rows = token_rows(plan_, request.run->m);
  view.rank = rank_;
}

// Makes the list of the run. Returns false if the communicator was aborted.
bool HostOp::list_tiles(const Request& request) {
  if (!check_rows(request)) return false;
  tilepost_routing_info_t tables{};
  routing_->get_info(tables);
  Experts experts{tables.expert_ends, plan_.experts};
  experts.tokens = tables.row_tokens;
  token_tiles_ =
      list_token_tiles(experts, request.run->shape.m, plan_.map.tile_m,
                       token_groups(plan_, *request.run, rank_, routing_->shape().most_tokens));
  return true;
}

// Ends the run on all ranks if any of them has more rows than the plan is for. Ranks tell each
// other their rows before any of them computes, so that no output is written.
bool HostOp::check_rows(const Request& request) {
  if (plan_.most_rows == plan_.map.m * plan_.top) return true;  // as many as there can be
  tilepost_routing_info_t tables{};
  routing_->get_info(tables);
  std::vector<int64_t> all;
  const HostStep place = place_of(request, HostStep::kExchange);
  if (!exchange(place, {tables.expert_ends[plan_.experts - 1]}, all)) return false;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    if (all[rank] <= plan_.most_rows) continue;
    group_->abort(TILEPOST_INVALID_ARGUMENT,
                  too_many_rows_text(name_, rank, all[rank], plan_.most_rows));
    return false;
  }
  return true;
}

}  // namespace tilepost
