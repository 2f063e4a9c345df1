#include "runtime/bench/ranks/sequence.h"

#include <algorithm>
#include <numeric>

#include "runtime/bench/gemm/cublas_rows.h"
#include "runtime/bench/gpu/checked.h"
#include "runtime/cuda/transport/nccl_collective.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"

namespace tilepost::bench {
namespace {

using cuda::nccl_type;

// The number of rows of a product, padded so that the ranks divide it and cuBLASLt can compute it.
int64_t padded_rows(const tilepost_plan_t& plan) {
  return std::max(plan.map.ranks * share_rows(plan.map), rows_for_cublas(plan));
}

// The rows sorted by destination. Rows for one destination keep their order.
std::vector<int32_t> sorted_rows(const BenchRoute& route) {
  std::vector<int32_t> order(route.destinations.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t x, int32_t y) {
    return route.destinations[x] < route.destinations[y];
  });
  return order;
}

}  // namespace

int64_t count_result_rows(const tilepost_plan_t& plan, int rank, uint64_t seed) {
  if (row_of(plan).out_is_share()) return rows_of_rank(plan.map, rank);
  if (!row_of(plan).routes()) return plan.map.m;
  const std::vector<int64_t> from = rows_from(plan, rank, seed);
  return std::accumulate(from.begin(), from.end(), int64_t{0});
}

Sequence::Sequence(const tilepost_plan_t& plan, int rank, uint64_t seed, CublasLt& cublas,
                   ncclComm_t nccl)
    : plan_(plan),
      rank_(rank),
      cublas_(cublas),
      nccl_(nccl),
      route_(route_of(plan, rank, seed)),
      rows_from_(rows_from(plan, rank, seed)),
      result_rows_(count_result_rows(plan, rank, seed)),
      norm_(plan, result_rows_) {
  const PatternRow& row = row_of(plan);
  const int64_t row_bytes = plan.map.n * element_bytes(plan.output);
  const int64_t bytes = padded_rows(plan) * row_bytes;
  product_ = allocate(bytes);
  TILEPOST_BENCH_CUDA(cudaMemset(product_.get(), 0, static_cast<size_t>(bytes)));
  if (row.moves_input())
    gathered_ = allocate(padded_rows(plan) * plan.k * element_bytes(plan.input));
  if (const MovedScales scales = moved_scales(plan); scales.exist())
    scales_ = allocate(padded_rows(plan) * scales.row_bytes());
  if (row.out_is_share()) received_ = allocate(share_rows(plan.map) * row_bytes);
  if (row.product_is_routed()) received_ = allocate(std::max<int64_t>(result_rows_, 1) * row_bytes);
  if (route_.destinations.empty()) return;
  order_ = upload(sorted_rows(route_));
  const int64_t moved_bytes = row.moves_input() ? plan.k * element_bytes(plan.input) : row_bytes;
  sorted_ = allocate(rows_of_runs(plan) * moved_bytes);
}

void Sequence::poison(cudaStream_t stream) {
  const int64_t bytes = result_rows_ * plan_.map.n * element_bytes(plan_.output);
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(result_memory(), 0xff, static_cast<size_t>(bytes), stream));
}

void Sequence::run(const OperandSet& set, cudaStream_t stream) {
  const bool first = row_of(plan_).moves_input();
  if (first) communicate(set, stream);
  gemm(set, stream);
  if (!first) communicate(set, stream);
  norm_.normalise(result_memory(), stream);
}

void Sequence::gemm(const OperandSet& set, cudaStream_t stream) {
  OperandSet target = set;
  if (gathered_) target.a = gathered_.get();
  target.out = product_.get();
  if (author_)
    (*author_)(target, stream);
  else
    cublas_.launch(target, candidate_, stream);
}

Sequence::Moved Sequence::moved(const OperandSet& set) const {
  if (row_of(plan_).moves_input()) return {set.a, gathered_.get(), plan_.k, plan_.input};
  return {product_.get(), result_memory(), plan_.map.n, plan_.output};
}

void Sequence::communicate(const OperandSet& set, cudaStream_t stream) {
  const Moved rows = moved(set);
  const ncclDataType_t type = nccl_type(rows.type);
  const auto count = [&](int64_t num_rows) { return static_cast<size_t>(num_rows * rows.width); };
  switch (row_of(plan_).rows_end) {
    case RowsEnd::own:
      break;
    case RowsEnd::routed:
      exchange_rows(rows, stream);
      break;
    case RowsEnd::share:
      TILEPOST_BENCH_STATUS(ncclReduceScatter(rows.from, rows.to, count(share_rows(plan_.map)),
                                              type, ncclSum, nccl_, stream));
      break;
    case RowsEnd::all:
      if (row_of(plan_).sums)
        TILEPOST_BENCH_STATUS(
            ncclAllReduce(rows.from, rows.to, count(plan_.map.m), type, ncclSum, nccl_, stream));
      else
        all_gather(rows, stream);
      break;
  }
}

// Scales of blocks are gathered in the group of the rows' message, in place. What the GEMM reads
// are scales in its own order, which are the same: their gathering alone is timed, not their
// transposition.
void Sequence::all_gather(const Moved& rows, cudaStream_t stream) {
  const int64_t share = share_rows(plan_.map);
  const MovedScales scales = moved_scales(plan_);
  if (scales.exist()) TILEPOST_BENCH_STATUS(ncclGroupStart());
  TILEPOST_BENCH_STATUS(ncclAllGather(rows.from, rows.to, static_cast<size_t>(share * rows.width),
                                      nccl_type(rows.type), nccl_, stream));
  if (!scales.exist()) return;
  auto* const all = static_cast<float*>(scales_.get());
  const int64_t count = share * scales.row;
  TILEPOST_BENCH_STATUS(ncclAllGather(all + rank_ * count, all, static_cast<size_t>(count),
                                      ncclFloat32, nccl_, stream));
  TILEPOST_BENCH_STATUS(ncclGroupEnd());
}

void Sequence::exchange_rows(const Moved& rows, cudaStream_t stream) {
  const ncclDataType_t type = nccl_type(rows.type);
  const int64_t row_bytes = rows.width * element_bytes(rows.type);
  if (sorted_)
    gather_rows(rows.from, static_cast<const int32_t*>(order_.get()),
                static_cast<int>(rows_of_runs(plan_)), row_bytes, sorted_.get(), stream);
  const auto* from = static_cast<const char*>(sorted_ ? sorted_.get() : rows.from);
  auto* to = static_cast<char*>(rows.to);
  TILEPOST_BENCH_STATUS(ncclGroupStart());
  for (int peer = 0; peer < plan_.ranks; ++peer) {
    const int64_t sent = route_.rows_to[peer], received = rows_from_[peer];
    if (sent > 0)
      TILEPOST_BENCH_STATUS(
          ncclSend(from, static_cast<size_t>(sent * rows.width), type, peer, nccl_, stream));
    if (received > 0)
      TILEPOST_BENCH_STATUS(
          ncclRecv(to, static_cast<size_t>(received * rows.width), type, peer, nccl_, stream));
    from += sent * row_bytes, to += received * row_bytes;
  }
  TILEPOST_BENCH_STATUS(ncclGroupEnd());
}

}  // namespace tilepost::bench
