#include "runtime/bench/ranks/rank_bench.h"

#include <algorithm>
#include <cstring>

#include "runtime/bench/gemm/cublas_lt.h"
#include "runtime/bench/gemm/cublas_rows.h"
#include "runtime/bench/gpu/checked.h"

namespace tilepost::bench {

BenchTeam::BenchTeam(int ranks)
    : steps(ranks),
      clocks(ranks),
      candidates(static_cast<size_t>(ranks)),
      wrong(static_cast<size_t>(ranks)),
      elements(static_cast<size_t>(ranks)) {
  check_tilepost(tilepost_get_unique_id(&ours_id), "tilepost_get_unique_id");
  check_tilepost(tilepost_get_unique_id(&nccl_id), "tilepost_get_unique_id");
}

RankBench::RankBench(const Entry& entry, const tilepost_plan_t& plan, const Session& session,
                     BenchTeam& team, int rank)
    : entry_(entry), plan_(plan), session_(session), team_(team), rank_(rank) {}

RankBench::~RankBench() {
  for (Graph& graph : graphs_) graph.reset();
  ours_.reset();
  tilepost_comm_destroy(comm_);
  if (nccl_ != nullptr) ncclCommAbort(nccl_);
}

void RankBench::create() {
  TILEPOST_BENCH_CUDA(cudaSetDevice(rank_));
  preload_gate();
  check_tilepost(cuda::make_stream(stream_, false), "make_stream");
  check_tilepost(tilepost_comm_init(&team_.ours_id, rank_, plan_.ranks, &comm_),
                 "tilepost_comm_init");
  ours_ = std::make_unique<RankOperation>(entry_, plan_, session_, comm_, rank_);
  ncclUniqueId id;
  std::memcpy(&id, team_.nccl_id.bytes, sizeof id);
  TILEPOST_BENCH_STATUS(ncclCommInitRank(&nccl_, plan_.ranks, id, rank_));
  if (entry_.own != nullptr) own_ = entry_.own();
  operands_ = std::make_unique<Operands>(plan_, ours_->out_elements(), stream_.get(),
                                         own_ ? &*own_ : nullptr);
  if (session_.options.registered) ours_->register_outputs(*operands_);
  Product product = operands_->product(0);
  product.m = static_cast<int>(rows_of(rank_));
  cublas_ = std::make_unique<CublasLt>(product, rows_for_cublas(plan_, product.m),
                                       operands_->scale(), plan_.accumulate == TILEPOST_FAST, 0);
  if (cublas_->candidates() == 0 && entry_.own == nullptr)
    throw BenchError("cuBLASLt cannot compute this product");
  sequence_ = std::make_unique<Sequence>(plan_, rank_, session_.options.seed, *cublas_, nccl_);
  if (own_) sequence_->choose(AuthorsLaunch(plan_, *own_));
  clock_.emplace(team_.clocks, rank_, stream_.get());
}

void RankBench::choose() {
  operands_->fill_normal(session_.options.seed + static_cast<uint64_t>(rank_));
  if (entry_.own != nullptr || (rank_ != 0 && follows_first())) return;
  const std::function<void()> quiet = [] {};  // one rank's sign of life is enough
  Timer timer(stream_.get(), operands_->count(), session_.nvml, session_.options.seed,
              rank_ == 0 ? session_.alive : quiet);
  team_.candidates[rank_] = fastest_candidate(*cublas_, *operands_, kCool, timer, stream_.get());
}

void RankBench::check() {
  const OperandSet& set = operands_->set(0);
  const int64_t rows = sequence_->result_rows();
  cuda::DeviceMemory wrong = allocate(sizeof(unsigned long long));
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(wrong.get(), 0, sizeof(unsigned long long), stream_.get()));
  // If only the kernel knows what it computes, its sums are rounded, in an order that depends on
  // the transport. So the check takes one turn for each rank, in which only that rank's A is not
  // zero.
  const int turns = own_ && own_->is_opaque() && row_of(plan_).sums ? plan_.ranks : 1;
  for (int turn = 0; turn < turns; ++turn) {
    operands_->fill_exact(session_.options.seed, rank_);
    if (turns > 1 && rank_ != turn) operands_->clear_a();
    sequence_->norm().fill_normal(session_.options.seed, stream_.get());
    sequence_->norm().clear_residuals(stream_.get());
    TILEPOST_BENCH_CUDA(cudaMemsetAsync(
        ours_->out_of(set), 0xff, static_cast<size_t>(operands_->out_bytes()), stream_.get()));
    sequence_->poison(stream_.get());
    set_ = 0;
    start(kSequence);
    set_ = 0;
    start(kOurs);
    count_different(ours_->out_of(set), plan_.output, ours_->place(), sequence_->result(),
                    static_cast<int>(rows), static_cast<int>(plan_.map.n),
                    static_cast<unsigned long long*>(wrong.get()), stream_.get());
  }
  team_.elements[rank_] = turns * rows * plan_.map.n;
  ours_->synchronize();
  team_.wrong[rank_] = read_number(wrong.get(), stream_.get());
  operands_->fill_normal(session_.options.seed + static_cast<uint64_t>(rank_));
  sequence_->norm().fill_normal(session_.options.seed, stream_.get());
}

void RankBench::enqueue(RankVariant variant, bool alone) {
  clock_->begin();
  start(variant);
  if (alone) clock_->end();
}

void RankBench::finish(RankVariant variant, int more) {
  clock_->open();
  for (int i = 0; i < more; ++i) start(variant);
  if (more > 0) clock_->end();
  clock_->take(1 + more);
}

void RankBench::make_graph(RankVariant variant, int runs) {
  graph_runs_ = runs;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  TILEPOST_BENCH_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < runs; ++i) start(variant);
  TILEPOST_BENCH_CUDA(cudaStreamEndCapture(stream_.get(), &graph));
  const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  TILEPOST_BENCH_CUDA(made);
  graphs_[variant].reset(exec);
  TILEPOST_BENCH_CUDA(cudaGraphUpload(exec, stream_.get()));
}

void RankBench::enqueue_graph(RankVariant variant) {
  clock_->begin();
  TILEPOST_BENCH_CUDA(cudaGraphLaunch(graphs_[variant].get(), stream_.get()));
  clock_->end();
}

void RankBench::finish_graph() {
  clock_->open();
  clock_->take(graph_runs_);
}

void RankBench::start(RankVariant variant) {
  const int chosen = set_;
  const OperandSet& set = operands_->set(chosen);
  set_ = (set_ + 1) % operands_->count();
  switch (variant) {
    case kOurs:
      ours_->run(*operands_, chosen, sequence_->norm(), stream_.get());
      break;
    case kSequence:
      sequence_->run(set, stream_.get());
      break;
    case kGemm:
      sequence_->gemm(set, stream_.get());
      break;
    case kCollective:
      sequence_->communicate(set, stream_.get());
      break;
    case kRankVariants:
      break;
  }
}

}  // namespace tilepost::bench
