#include "runtime/bench/ranks/sequence.h"

#include <algorithm>
#include <numeric>

#include "runtime/bench/gpu/checked.h"
#include "runtime/cuda/transport/nccl_collective.h"
#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"

namespace tilepost::bench {
namespace {

using cuda::nccl_type;

// Rows that ranks divide, where they do.
int64_t padded_rows(const tilepost_plan_t& plan) {
  return plan.map.ranks * share_rows(plan.map);
}

int64_t count_result_rows(const tilepost_plan_t& plan, std::span<const int64_t> rows_from,
                          int rank) {
  if (row_of(plan).out_is_share()) return rows_of_rank(plan.map, rank);
  if (!row_of(plan).out_is_routed()) return plan.map.m;
  return std::accumulate(rows_from.begin(), rows_from.end(), int64_t{0});
}

// The rows by destination, and in their order to each.
std::vector<int32_t> sorted_rows(const BenchRoute& route) {
  std::vector<int32_t> order(route.destinations.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t x, int32_t y) {
    return route.destinations[x] < route.destinations[y];
  });
  return order;
}

}  // namespace

Sequence::Sequence(const tilepost_plan_t& plan, int rank, uint64_t seed, CublasLt& cublas,
                   ncclComm_t nccl)
    : plan_(plan),
      rank_(rank),
      cublas_(cublas),
      nccl_(nccl),
      route_(route_of(plan, rank, seed)),
      rows_from_(rows_from(plan, rank, seed)),
      result_rows_(count_result_rows(plan, rows_from_, rank)) {
  const int64_t row_bytes = plan.map.n * element_bytes(plan.output);
  const int64_t bytes = padded_rows(plan) * row_bytes;
  product_ = allocate(bytes);
  TILEPOST_BENCH_CUDA(cudaMemset(product_.get(), 0, static_cast<size_t>(bytes)));
  if (row_of(plan).moves_input())
    gathered_ = allocate(padded_rows(plan) * plan.k * element_bytes(plan.input));
  if (row_of(plan).out_is_share()) received_ = allocate(share_rows(plan.map) * row_bytes);
  if (row_of(plan).out_is_routed())
    received_ = allocate(std::max<int64_t>(result_rows_, 1) * row_bytes);
  if (route_.destinations.empty()) return;
  order_ = upload(sorted_rows(route_));
  sorted_ = allocate(plan.map.m * row_bytes);
}

const void* Sequence::result() const {
  return received_ ? received_.get() : product_.get();
}

void Sequence::poison(cudaStream_t stream) {
  const int64_t bytes = result_rows_ * plan_.map.n * element_bytes(plan_.output);
  void* const result = received_ ? received_.get() : product_.get();
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(result, 0xff, static_cast<size_t>(bytes), stream));
}

void Sequence::run(const OperandSet& set, cudaStream_t stream) {
  const bool first = row_of(plan_).moves_input();
  if (first) communicate(set, stream);
  gemm(set, stream);
  if (!first) communicate(set, stream);
}

void Sequence::gemm(const OperandSet& set, cudaStream_t stream) {
  OperandSet target = set;
  if (gathered_) target.a = gathered_.get();
  target.out = product_.get();
  cublas_.launch(target, candidate_, stream);
}

void Sequence::communicate(const OperandSet& set, cudaStream_t stream) {
  const ncclDataType_t type = nccl_type(plan_.output);
  const auto count = [](int64_t rows, int64_t columns) {
    return static_cast<size_t>(rows * columns);
  };
  switch (plan_.pattern) {
    case TILEPOST_GEMM:
      break;
    case TILEPOST_GEMM_ALL_REDUCE:
      TILEPOST_BENCH_STATUS(ncclAllReduce(product_.get(), product_.get(),
                                          count(plan_.map.m, plan_.map.n), type, ncclSum, nccl_,
                                          stream));
      break;
    case TILEPOST_GEMM_REDUCE_SCATTER:
      TILEPOST_BENCH_STATUS(ncclReduceScatter(product_.get(), received_.get(),
                                              count(share_rows(plan_.map), plan_.map.n), type,
                                              ncclSum, nccl_, stream));
      break;
    case TILEPOST_GEMM_ALL_TO_ALL:
      exchange_rows(stream);
      break;
    case TILEPOST_ALL_GATHER_GEMM:
      TILEPOST_BENCH_STATUS(ncclAllGather(set.a, gathered_.get(),
                                          count(share_rows(plan_.map), plan_.k),
                                          nccl_type(plan_.input), nccl_, stream));
      break;
  }
}

void Sequence::exchange_rows(cudaStream_t stream) {
  const ncclDataType_t type = nccl_type(plan_.output);
  const int64_t n = plan_.map.n;
  if (sorted_)
    gather_rows(product_.get(), static_cast<const int32_t*>(order_.get()),
                static_cast<int>(plan_.map.m), static_cast<int>(n), sorted_.get(), stream);
  const auto* from = static_cast<const uint16_t*>(sorted_ ? sorted_.get() : product_.get());
  auto* to = static_cast<uint16_t*>(received_.get());
  TILEPOST_BENCH_STATUS(ncclGroupStart());
  for (int peer = 0; peer < plan_.ranks; ++peer) {
    const int64_t sent = route_.rows_to[peer] * n, received = rows_from_[peer] * n;
    if (sent > 0)
      TILEPOST_BENCH_STATUS(ncclSend(from, static_cast<size_t>(sent), type, peer, nccl_, stream));
    if (received > 0)
      TILEPOST_BENCH_STATUS(ncclRecv(to, static_cast<size_t>(received), type, peer, nccl_, stream));
    from += sent, to += received;
  }
  TILEPOST_BENCH_STATUS(ncclGroupEnd());
}

}  // namespace tilepost::bench
