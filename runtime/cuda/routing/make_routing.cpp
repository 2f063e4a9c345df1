// Makes routings. Ranks that route together first compare what they are about to make, and whether
// each has got what it needs, so that all go on or all fail.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <string>
#include <vector>

#include "runtime/cuda/routing/routing.h"
#include "runtime/cuda/shared/number_exchange.h"
#include "runtime/cuda/shared/peer_info.h"

namespace tilepost::cuda {
namespace {

// What a rank tells the others.
struct Standing {
  int64_t result;  // tilepost_result_t of what the rank does alone
  int64_t experts, top, most_tokens;
  int64_t blocks;  // CudaRouting::most_blocks
  PeerInfo place;  // without memory
};

// A number that must be the same on all ranks.
struct Fact {
  int64_t Standing::*value;
  const char* name;
};
constexpr std::array kFacts = {Fact{&Standing::experts, "experts"}, Fact{&Standing::top, "top"},
                               Fact{&Standing::most_tokens, "most_tokens"}};

tilepost_result_t make_alone(const Communicator& comm, const RoutingTerms& terms,
                             std::unique_ptr<CudaRouting>& made) {
  RoutingShape shape{};
  TILEPOST_TRY(check_routing(terms, comm.world(), comm.rank(), shape));
  DeviceInfo device;
  TILEPOST_TRY(read_device(comm.device(), device));
  auto routing = std::make_unique<CudaRouting>(terms, shape, device, comm);
  TILEPOST_TRY(routing->create());
  made = std::move(routing);
  return TILEPOST_OK;
}

tilepost_result_t tell(const Communicator& comm, ControlChannel& channel, double seconds,
                       const Standing& own, std::vector<Standing>& all) {
  const tilepost_result_t result = exchange_standings(channel, comm.world(), seconds, own, all);
  if (result != TILEPOST_TIMEOUT) return result;
  return fail(result,
              "rank %d: tilepost_routing_create: another rank did not come within %g s, or "
              "failed in this call",
              comm.rank(), seconds);
}

// Kernels of a process's ranks wait for each other, and on one GPU nothing makes them take turns.
tilepost_result_t check_places(const std::vector<Standing>& all) {
  for (size_t rank = 1; rank < all.size(); ++rank)
    for (size_t other = 0; other < rank; ++other)
      if (same_process(all[rank].place, all[other].place) &&
          same_gpu(all[rank].place, all[other].place))
        return fail(TILEPOST_UNSUPPORTED,
                    "tilepost_routing_create: %s and %s are one GPU, and the ranks' kernels would "
                    "wait for each other there; give each rank a GPU of its own",
                    name_of(static_cast<int>(other), all[other].place).c_str(),
                    name_of(static_cast<int>(rank), all[rank].place).c_str());
  return TILEPOST_OK;
}

tilepost_result_t compare(const std::vector<Standing>& all) {
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].result != TILEPOST_OK)
      return fail(static_cast<tilepost_result_t>(all[rank].result),
                  "tilepost_routing_create: rank %zu refused; its own error says why", rank);
  for (const Fact& fact : kFacts)
    for (size_t rank = 1; rank < all.size(); ++rank)
      if (all[rank].*fact.value != all[0].*fact.value)
        return fail(TILEPOST_INVALID_ARGUMENT,
                    "tilepost_routing_create: %s is %" PRId64 " on rank %zu and %" PRId64
                    " on rank 0; make the routing alike on all ranks",
                    fact.name, all[rank].*fact.value, rank, all[0].*fact.value);
  return check_places(all);
}

// Makes a routing of several ranks. `alone` is the result of make_alone.
tilepost_result_t make_together(Communicator& comm, const RoutingTerms& terms,
                                tilepost_result_t alone, CudaRouting* made) {
  const std::string text = alone != TILEPOST_OK ? tilepost_last_error() : "";
  const double seconds = terms.options.deadline_seconds;
  TILEPOST_TRY(comm.order()->wait_for_exclusive(*comm.aborted()));
  std::shared_ptr<ControlChannel> channel;
  TILEPOST_TRY(comm.control(seconds, channel));
  PeerInfo place{};
  TILEPOST_TRY(make_peer_info(comm.device(), place));
  const Standing own = {
      alone, terms.experts, terms.top, terms.most_tokens, made != nullptr ? made->most_blocks() : 0,
      place};
  std::vector<Standing> all;
  TILEPOST_TRY(tell(comm, *channel, seconds, own, all));
  if (alone != TILEPOST_OK) return fail(alone, "%s", text.c_str());
  TILEPOST_TRY(compare(all));
  const auto least = std::ranges::min_element(all, {}, &Standing::blocks);
  return made->make_window(*channel, static_cast<int>(least->blocks));
}

}  // namespace

tilepost_result_t make_routing(Communicator& comm, const RoutingTerms& terms,
                               std::unique_ptr<tilepost_expert_routing>& routing) {
  if (comm.is_aborted())
    return fail(TILEPOST_ABORTED, "the communicator was aborted earlier; make a new one");
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(comm.device()));
  std::unique_ptr<CudaRouting> made;
  tilepost_result_t result = make_alone(comm, terms, made);
  if (comm.world() > 1) result = make_together(comm, terms, result, made.get());
  if (result == TILEPOST_OK) routing = std::move(made);
  return result;
}

}  // namespace tilepost::cuda
