#include "runtime/bench/ranks/tune_rank.h"

#include <algorithm>
#include <cstring>

#include "runtime/bench/gemm/authors_launch.h"
#include "runtime/bench/gemm/cublas_rows.h"
#include "runtime/bench/gemm/route.h"

namespace tilepost::bench {
namespace {

constexpr int kRunsOfGraph = 20;

}  // namespace

TuneTeam::TuneTeam(int ranks, std::vector<Contender> all)
    : steps(ranks), clocks(ranks), contenders(std::move(all)) {
  for (Contender& contender : contenders) {
    contender.faults.resize(static_cast<size_t>(ranks));
    contender.wrong.resize(static_cast<size_t>(ranks));
    contender.elements.resize(static_cast<size_t>(ranks));
  }
  check_tilepost(tilepost_get_unique_id(&ours_id), "tilepost_get_unique_id");
  check_tilepost(tilepost_get_unique_id(&nccl_id), "tilepost_get_unique_id");
}

TuneRank::TuneRank(const Session& session, TuneTeam& team, int rank)
    : session_(session), team_(team), rank_(rank) {
  operations_.resize(team.contenders.size());
  graphs_.resize(team.contenders.size());
}

TuneRank::~TuneRank() {
  graphs_.clear();
  operations_.clear();
  tilepost_comm_destroy(comm_);
  if (nccl_ != nullptr) ncclCommAbort(nccl_);
}

void TuneRank::create() {
  TILEPOST_BENCH_CUDA(cudaSetDevice(rank_));
  preload_gate();
  check_tilepost(cuda::make_stream(stream_, false), "make_stream");
  check_tilepost(tilepost_comm_init(&team_.ours_id, rank_, plan().ranks, &comm_),
                 "tilepost_comm_init");
}

void TuneRank::create(size_t contender) {
  Contender& one = team_.contenders[contender];
  try {
    operations_[contender] =
        std::make_unique<RankOperation>(*one.entry, *one.plan, session_, comm_, rank_);
  } catch (const BenchError& error) {
    one.faults[rank_] = error.what();
    cudaGetLastError();
  }
}

int64_t TuneRank::rows_of_result() const {
  return count_result_rows(plan(), rank_, session_.options.seed);
}

void TuneRank::create_operands() {
  int64_t out_elements = 0;
  first_ = team_.contenders.size();
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (!team_.contenders[i].runs) {
      operations_[i].reset();
      continue;
    }
    first_ = std::min(first_, i);
    out_elements = std::max(out_elements, operations_[i]->out_elements());
  }
  const Entry& entry = *team_.contenders[first_].entry;
  if (entry.own != nullptr) own_ = entry.own();
  operands_ =
      std::make_unique<Operands>(plan(), out_elements, stream_.get(), own_ ? &*own_ : nullptr);
  clock_.emplace(team_.clocks, rank_, stream_.get());
  if (session_.options.registered)
    for (const auto& operation : operations_)
      if (operation) operation->register_outputs(*operands_);
  const int64_t rows = rows_of_result();
  if (plan().epilogue == 0)
    make_reference();
  else
    expected_ = allocate(rows * plan().map.n * element_bytes(plan().output));
  if (!sequence_) norm_ = std::make_unique<NormOperands>(plan(), rows);
}

void TuneRank::make_reference() {
  ncclUniqueId id;
  std::memcpy(&id, team_.nccl_id.bytes, sizeof id);
  TILEPOST_BENCH_STATUS(ncclCommInitRank(&nccl_, plan().ranks, id, rank_));
  Product product = operands_->product(0);
  product.m = static_cast<int>(rows_multiplied(plan(), rank_, session_.options.seed));
  cublas_ = std::make_unique<CublasLt>(product, rows_for_cublas(plan(), product.m),
                                       operands_->scale(), plan().accumulate == TILEPOST_FAST, 0);
  if (cublas_->candidates() == 0 && !own_) throw BenchError("cuBLASLt cannot compute this product");
  sequence_ = std::make_unique<Sequence>(plan(), rank_, session_.options.seed, *cublas_, nccl_);
  if (own_) sequence_->choose(AuthorsLaunch(plan(), *own_));
}

const char* TuneRank::reference() const {
  if (!sequence_) return team_.contenders[first_].entry->name;
  return own_ ? "the original and nccl" : "cublaslt and nccl";
}

// As in RankBench::check, a kernel whose product is known to it alone takes one turn for each rank.
void TuneRank::check(size_t contender) {
  Contender& one = team_.contenders[contender];
  RankOperation& operation = *operations_[contender];
  const OperandSet& set = operands_->set(0);
  const int64_t rows = rows_of_result();
  NormOperands& norm = sequence_ ? sequence_->norm() : *norm_;
  cuda::DeviceMemory wrong = allocate(sizeof(unsigned long long));
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(wrong.get(), 0, sizeof(unsigned long long), stream_.get()));
  const int turns = own_ && own_->is_opaque() && row_of(plan()).sums ? plan().ranks : 1;
  for (int turn = 0; turn < turns; ++turn) {
    operands_->fill_exact(session_.options.seed, rank_);
    if (turns > 1 && rank_ != turn) operands_->clear_a();
    norm.fill_normal(session_.options.seed, stream_.get());
    norm.clear_residuals(stream_.get());
    TILEPOST_BENCH_CUDA(cudaMemsetAsync(
        operation.out_of(set), 0xff, static_cast<size_t>(operands_->out_bytes()), stream_.get()));
    if (sequence_) {
      sequence_->poison(stream_.get());
      sequence_->run(set, stream_.get());
    }
    operation.run(*operands_, 0, norm, stream_.get());
    if (!sequence_ && contender == first_)
      make_row_major(operation.out_of(set), plan().output, operation.place(),
                     static_cast<int>(rows), static_cast<int>(plan().map.n), expected_.get(),
                     stream_.get());
    count_different(operation.out_of(set), plan().output, operation.place(),
                    sequence_ ? sequence_->result() : expected_.get(), static_cast<int>(rows),
                    static_cast<int>(plan().map.n), static_cast<unsigned long long*>(wrong.get()),
                    stream_.get());
  }
  one.elements[rank_] = turns * rows * plan().map.n;
  operation.synchronize();
  one.wrong[rank_] = read_number(wrong.get(), stream_.get());
}

void TuneRank::prepare() {
  operands_->fill_normal(session_.options.seed + static_cast<uint64_t>(rank_));
  (sequence_ ? sequence_->norm() : *norm_).fill_normal(session_.options.seed, stream_.get());
  TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream_.get()));
}

void TuneRank::capture(size_t contender) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  TILEPOST_BENCH_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kRunsOfGraph; ++i) start(contender);
  TILEPOST_BENCH_CUDA(cudaStreamEndCapture(stream_.get(), &graph));
  const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  TILEPOST_BENCH_CUDA(made);
  graphs_[contender].reset(exec);
  TILEPOST_BENCH_CUDA(cudaGraphUpload(exec, stream_.get()));
}

void TuneRank::start(size_t contender) {
  const NormOperands& norm = sequence_ ? sequence_->norm() : *norm_;
  operations_[contender]->run(*operands_, set_, norm, stream_.get());
  set_ = (set_ + 1) % operands_->count();
}

void TuneRank::enqueue(size_t contender) {
  const bool graph = session_.options.graph;
  if (graph && !graphs_[contender]) capture(contender);
  clock_->begin();
  if (graph)
    TILEPOST_BENCH_CUDA(cudaGraphLaunch(graphs_[contender].get(), stream_.get()));
  else
    start(contender);
  clock_->end();
}

void TuneRank::finish() {
  clock_->open();
  clock_->take(session_.options.graph ? kRunsOfGraph : 1);
}

}  // namespace tilepost::bench
