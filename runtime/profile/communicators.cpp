#include "runtime/profile/communicators.h"

#include <cstring>

namespace tilepost::profile {
namespace {

constexpr double kSeconds = 60;

// One NCCL call, or one group of calls, on a communicator.
ncclResult_t call(const std::string& name, const char* from, char* to, size_t bytes, int ranks,
                  int rank, ncclComm_t comm, cudaStream_t stream) {
  const size_t share = bytes / static_cast<size_t>(ranks), elements = bytes / 2;
  if (name == "all_reduce")
    return ncclAllReduce(from, to, elements, ncclBfloat16, ncclSum, comm, stream);
  if (name == "reduce_scatter")
    return ncclReduceScatter(from, to, share / 2, ncclBfloat16, ncclSum, comm, stream);
  if (name == "all_gather")
    return ncclAllGather(from + share * static_cast<size_t>(rank), to, share / 2, ncclBfloat16,
                         comm, stream);
  ncclResult_t result = ncclGroupStart();
  for (int peer = 0; peer < ranks && result == ncclSuccess; ++peer) {
    if (peer == rank) continue;
    const size_t at = share * static_cast<size_t>(peer);
    result = ncclSend(from + at, share / 2, ncclBfloat16, peer, comm, stream);
    if (result == ncclSuccess)
      result = ncclRecv(to + at, share / 2, ncclBfloat16, peer, comm, stream);
  }
  const ncclResult_t ended = ncclGroupEnd();
  return result != ncclSuccess ? result : ended;
}

}  // namespace

tilepost_unique_id_t make_id() {
  tilepost_unique_id_t id{};
  bench::check_tilepost(tilepost_get_unique_id(&id), "tilepost_get_unique_id");
  return id;
}

Communicators::Communicators(Rank& rank, const tilepost_unique_id_t& id,
                             const tilepost_unique_id_t& plain_id)
    : rank_(rank) {
  rank.together([&] {
    bench::check_tilepost(communicator_.init(id, rank.rank(), rank.ranks()), "ncclCommInitRank");
  });
  rank.together([&] {
    ncclUniqueId plain;
    std::memcpy(&plain, plain_id.bytes, sizeof plain);
    TILEPOST_BENCH_STATUS(ncclCommInitRank(&plain_, rank.ranks(), plain, rank.rank()));
  });
}

Communicators::~Communicators() {
  children_.clear();
  if (plain_ != nullptr) ncclCommAbort(plain_);
}

void Communicators::prepare(int ctas, int lane) {
  rank_.together([&] {
    bench::check_tilepost(communicator_.child(ctas, lane, kSeconds, children_[{ctas, lane}]),
                          "ncclCommSplit");
  });
}

void Communicators::issue(const std::string& name, void* from, void* to, int64_t bytes, int ctas,
                          int lane, cudaStream_t stream) {
  const auto body = [&](ncclComm_t comm) {
    TILEPOST_BENCH_STATUS(call(name, static_cast<const char*>(from), static_cast<char*>(to),
                               static_cast<size_t>(bytes), rank_.ranks(), rank_.rank(), comm,
                               stream));
    return TILEPOST_OK;
  };
  if (ctas == 0)
    body(plain_);
  else
    bench::check_tilepost(children_.at({ctas, lane})->issue(false, body), "NCCL");
}

}  // namespace tilepost::profile
