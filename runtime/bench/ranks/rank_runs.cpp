#include "runtime/bench/ranks/rank_runs.h"

#include <cstring>

#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/gpu/kernels.h"

namespace tilepost::bench {

BenchTeam::BenchTeam(int ranks)
    : steps(ranks),
      clocks(ranks),
      candidates(static_cast<size_t>(ranks)),
      wrong(static_cast<size_t>(ranks)),
      elements(static_cast<size_t>(ranks)),
      sampled_wrong(static_cast<size_t>(ranks)),
      sampled(static_cast<size_t>(ranks)) {
  check_tilepost(tilepost_get_unique_id(&ours_id), "tilepost_get_unique_id");
  check_tilepost(tilepost_get_unique_id(&nccl_id), "tilepost_get_unique_id");
}

RankRuns::~RankRuns() {
  drop_graphs();
  tilepost_comm_destroy(comm_);
  if (nccl_ != nullptr) ncclCommAbort(nccl_);
}

void RankRuns::connect(int ranks) {
  TILEPOST_BENCH_CUDA(cudaSetDevice(rank_));
  preload_gate();
  check_tilepost(cuda::make_stream(stream_, false), "make_stream");
  check_tilepost(tilepost_comm_init(&team_.ours_id, rank_, ranks, &comm_), "tilepost_comm_init");
  ncclUniqueId id;
  std::memcpy(&id, team_.nccl_id.bytes, sizeof id);
  TILEPOST_BENCH_STATUS(ncclCommInitRank(&nccl_, ranks, id, rank_));
  clock_.emplace(team_.clocks, rank_, stream());
}

void RankRuns::drop_graphs() {
  for (Graph& graph : graphs_) graph.reset();
}

void RankRuns::enqueue(RankVariant variant, bool alone) {
  clock_->begin();
  start(variant);
  if (alone) clock_->end();
}

void RankRuns::finish(RankVariant variant, int more) {
  clock_->open();
  for (int i = 0; i < more; ++i) start(variant);
  if (more > 0) clock_->end();
  clock_->take(1 + more);
}

void RankRuns::make_graph(RankVariant variant, int runs) {
  graph_runs_ = runs;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  TILEPOST_BENCH_CUDA(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < runs; ++i) start(variant);
  TILEPOST_BENCH_CUDA(cudaStreamEndCapture(stream(), &graph));
  const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  TILEPOST_BENCH_CUDA(made);
  graphs_[variant].reset(exec);
  TILEPOST_BENCH_CUDA(cudaGraphUpload(exec, stream()));
}

void RankRuns::enqueue_graph(RankVariant variant) {
  clock_->begin();
  TILEPOST_BENCH_CUDA(cudaGraphLaunch(graphs_[variant].get(), stream()));
  clock_->end();
}

void RankRuns::finish_graph() {
  clock_->open();
  clock_->take(graph_runs_);
}

}  // namespace tilepost::bench
