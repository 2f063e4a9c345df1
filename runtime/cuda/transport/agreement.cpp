#include "runtime/cuda/transport/agreement.h"

#include <array>
#include <cinttypes>

#include "runtime/core/run_terms.h"
#include "runtime/cuda/shared/number_exchange.h"
#include "tilepost/version.h"

namespace tilepost::cuda {
namespace {

constexpr const char* kSameCode = "make the operation of the same generated code on all ranks";
constexpr const char* kSameRuntime = "link the same version of tilepost on all ranks";

// A number that must be the same on all ranks, and the remedy where it is not.
struct Fact {
  int64_t Standing::*value;
  const char* name;
  const char* way_out;
};
constexpr std::array kOfRuntimes = {
    Fact{&Standing::abi, "runtime has ABI", kSameRuntime},
    Fact{&Standing::version, "runtime has version", kSameRuntime},
    Fact{&Standing::nccl, "NCCL has version", "load the same NCCL on all ranks"},
};
constexpr std::array kOfOperations = {
    Fact{&Standing::share_memory, "tilepost_options_t::share_memory is",
         "set it alike on all ranks"},
    Fact{&Standing::m, "plan has m", kSameCode},
    Fact{&Standing::n, "plan has n", kSameCode},
    Fact{&Standing::k, "plan has k", kSameCode},
};

using Standings = std::vector<Standing>;

tilepost_result_t make_standing(const Communicator& comm, const Proposal& proposal,
                                Standing& standing) {
  standing = {};
  int nccl = 0;
  TILEPOST_NCCL(ncclGetVersion(&nccl));
  standing.abi = TILEPOST_ABI_VERSION;
  standing.version =
      TILEPOST_VERSION_MAJOR * 10000 + TILEPOST_VERSION_MINOR * 100 + TILEPOST_VERSION_PATCH;
  standing.nccl = nccl;
  standing.result = proposal.result;
  standing.sm = proposal.device.sm;
  standing.share_memory = proposal.options.share_memory;
  TILEPOST_TRY(make_peer_info(comm.device(), standing.place));
  if (proposal.result != TILEPOST_OK) return TILEPOST_OK;
  const tilepost_plan_t& first = *proposal.plans.front();
  standing.m = first.map.m;
  standing.n = first.map.n;
  standing.k = first.k;
  standing.plan = static_cast<int64_t>(hash_plans(proposal.plans));
  return TILEPOST_OK;
}

tilepost_result_t tell(Communicator& comm, double seconds, const Standing& own, Standings& all) {
  std::shared_ptr<ControlChannel> channel;
  TILEPOST_TRY(comm.control(seconds, channel));
  return explain_absence(exchange_standings(*channel, comm.world(), seconds, own, all), comm.rank(),
                         "plans", seconds);
}

template <size_t kFacts>
tilepost_result_t compare(const Standings& all, const std::array<Fact, kFacts>& facts) {
  for (const Fact& fact : facts)
    for (size_t rank = 1; rank < all.size(); ++rank)
      if (all[rank].*fact.value != all[0].*fact.value)
        return fail(TILEPOST_INVALID_ARGUMENT,
                    "rank %zu is not like rank 0: its %s %" PRId64 ", that of rank 0 %" PRId64
                    "; %s",
                    rank, fact.name, all[rank].*fact.value, all[0].*fact.value, fact.way_out);
  return TILEPOST_OK;
}

tilepost_result_t find_refusal(const Standings& all) {
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].result != TILEPOST_OK)
      return fail(static_cast<tilepost_result_t>(all[rank].result),
                  "%s refused the program; its own error says why",
                  name_of(static_cast<int>(rank), all[rank].place).c_str());
  return TILEPOST_OK;
}

// Ranks on different GPUs may have different plans of one program.
tilepost_result_t compare_plans(const Standings& all) {
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].plan == all[0].plan) continue;
    const std::string text =
        plan_difference(static_cast<int>(rank), static_cast<uint64_t>(all[rank].plan), 0,
                        static_cast<uint64_t>(all[0].plan));
    if (all[rank].sm == all[0].sm) return fail(TILEPOST_INVALID_ARGUMENT, "%s", text.c_str());
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s; their GPUs are sm_%" PRId64 " and sm_%" PRId64
                ": generate it with one arch that serves both",
                text.c_str(), all[rank].sm, all[0].sm);
  }
  return TILEPOST_OK;
}

// Kernels of two ranks on one GPU would wait for each other while each holds SMs that the other
// needs.
tilepost_result_t compare_gpus(const Standings& all) {
  if (kRanksMayShareGpus) return TILEPOST_OK;
  for (size_t rank = 1; rank < all.size(); ++rank)
    for (size_t other = 0; other < rank; ++other)
      if (same_gpu(all[rank].place, all[other].place))
        return fail(TILEPOST_INVALID_ARGUMENT,
                    "%s and %s are on one GPU; give each rank its own (cudaSetDevice, "
                    "CUDA_VISIBLE_DEVICES)",
                    name_of(static_cast<int>(other), all[other].place).c_str(),
                    name_of(static_cast<int>(rank), all[rank].place).c_str());
  return TILEPOST_OK;
}

// Joins the board, which only ranks of rank 0's host can see.
void join(const Communicator& comm, const Standings& all, Agreement& agreement) {
  const Standing &own = all[static_cast<size_t>(comm.rank())], &first = all.front();
  if (!same_host(own.place, first.place) || (comm.rank() != 0 && first.board.token == 0)) return;
  if (agreement.board.join(first.board, comm.rank(), comm.world())) return;
  agreement.warnings =
      "runs are not compared with those of other ranks: the processes share no memory (shmget, "
      "shmat); start containers of one host with one IPC namespace\n";
}

}  // namespace

// Compares the runtimes first, because numbers of another runtime may mean something else.
tilepost_result_t agree(Communicator& comm, const Proposal& proposal, Agreement& agreement) {
  const std::string text = proposal.result != TILEPOST_OK ? tilepost_last_error() : "";
  Standing own;
  TILEPOST_TRY(make_standing(comm, proposal, own));
  if (comm.rank() == 0) own.board = RunBoard::make(comm.world(), agreement.board);
  Standings all;
  TILEPOST_TRY(tell(comm, proposal.options.deadline_seconds, own, all));
  if (proposal.result != TILEPOST_OK) return fail(proposal.result, "%s", text.c_str());
  TILEPOST_TRY(compare(all, kOfRuntimes));
  TILEPOST_TRY(find_refusal(all));
  TILEPOST_TRY(compare(all, kOfOperations));
  TILEPOST_TRY(compare_plans(all));
  TILEPOST_TRY(compare_gpus(all));
  join(comm, all, agreement);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
