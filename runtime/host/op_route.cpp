// Sets a route. The ranks exchange how many rows they have and how many rows go to each rank.
#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/host/op.h"

namespace tilepost {

// Waits until none of this rank's runs is left, because ranks meet in the same place for routes and
// for runs. Returns false if the communicator was aborted.
bool HostOp::wait_for_stream() {
  std::unique_lock lock(stream_.mutex);
  stream_.changed.wait(lock,
                       [&] { return stream_.completed == stream_.issued || group_->aborted(); });
  return !group_->aborted();
}

// Sends `mine` to all ranks. Sets `all` to the numbers of all ranks, in the ranks' order. Returns
// false if the communicator was aborted.
bool HostOp::exchange(const HostStep& place, std::vector<int64_t> mine, std::vector<int64_t>& all) {
  if (group_->aborted()) return false;  // others may still read what this rank sent before
  told_ = std::move(mine);
  if (!group_->begin_collective(rank_, place, &told_, deadline_seconds_)) return false;
  HostGroup::Visit visit(*group_);
  all.clear();
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const auto& theirs = group_->brought<std::vector<int64_t>>(rank);
    all.insert(all.end(), theirs.begin(), theirs.end());
  }
  return visit.end_collective(rank_, place, deadline_seconds_);
}

// `number`: the number of the call among the operation's calls of this kind.
HostStep HostOp::exchange_place(Meeting call, uint64_t number) const {
  HostStep place{{}, HostStep::kExchange};
  place.terms.program = name_;
  place.terms.operation = family_->operation;
  place.terms.plan = family_->hash;
  place.terms.call = call;
  place.terms.number = number;
  return place;
}

// Ranks choose the same groups because they all know the most rows that any rank has. If one
// refuses a route all do, because they all know all of the route's counts.
tilepost_result_t HostOp::agree_on_route(RouteInputs& inputs, std::unique_ptr<RunMap>& run) {
  const auto failed = [&] { return fail(group_->failure(), "%s", group_->failure_text()); };
  const HostStep place = exchange_place(Meeting::route, ++routes_);
  std::vector<int64_t> all;
  if (!exchange(place, {inputs.rows}, all)) return failed();
  inputs.most = std::max<int64_t>(1, std::ranges::max(all));
  run = begin_route(plan_, rank_, inputs);
  if (!exchange(place, run->own_counts, all)) return failed();
  TILEPOST_TRY(check_received(plan_, all));
  finish_route(plan_, rank_, all, *run);
  return TILEPOST_OK;
}

tilepost_result_t HostOp::route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) {
  RouteInputs inputs{};
  TILEPOST_TRY(check_route(plan_, route, inputs));
  if (!wait_for_stream()) return refuse();
  routed_ = nullptr;
  std::unique_ptr<RunMap> run;
  TILEPOST_TRY(agree_on_route(inputs, run));
  const auto received = static_cast<size_t>(run->sizes.receive * output_bytes_);
  if (received_.size() < received) received_.assign(received, 0);
  arrivals_ = Arrivals(*run, rank_, inputs);
  routed_ = std::move(run);
  if (arrivals != nullptr) *arrivals = arrivals_.view();
  return TILEPOST_OK;
}

}  // namespace tilepost
