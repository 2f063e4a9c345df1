#include "runtime/bench/ranks/rank_bench.h"

#include <algorithm>
#include <cstring>

#include "runtime/bench/gemm/cublas_lt.h"
#include "runtime/bench/gpu/checked.h"

namespace tilepost::bench {
namespace {

constexpr int64_t kFlushBytes = int64_t{256} << 20;  // more than any L2 has

}  // namespace

BenchTeam::BenchTeam(int ranks)
    : steps(ranks),
      candidates(static_cast<size_t>(ranks)),
      us(static_cast<size_t>(ranks)),
      wrong(static_cast<size_t>(ranks)),
      elements(static_cast<size_t>(ranks)) {
  check_tilepost(cuda::make_pinned_memory(gate_memory, sizeof(uint32_t)), "cudaHostAlloc");
  gate = static_cast<uint32_t*>(gate_memory.get());
  check_tilepost(tilepost_get_unique_id(&ours_id), "tilepost_get_unique_id");
  check_tilepost(tilepost_get_unique_id(&nccl_id), "tilepost_get_unique_id");
}

double BenchTeam::slowest() const {
  return *std::max_element(us.begin(), us.end());
}

RankBench::RankBench(const Entry& entry, const tilepost_plan_t& plan, const Session& session,
                     BenchTeam& team, int rank)
    : entry_(entry),
      plan_(plan),
      session_(session),
      team_(team),
      rank_(rank),
      rows_from_(rows_from(plan, rank, session.options.seed)) {}

RankBench::~RankBench() {
  for (Graph& graph : graphs_) graph.reset();
  tilepost_op_destroy(op_);
  tilepost_comm_destroy(comm_);
  if (nccl_ != nullptr) ncclCommAbort(nccl_);
}

void RankBench::create() {
  TILEPOST_BENCH_CUDA(cudaSetDevice(rank_));
  preload_gate();
  check_tilepost(cuda::make_stream(stream_, false), "make_stream");
  create_operation();
  ncclUniqueId id;
  std::memcpy(&id, team_.nccl_id.bytes, sizeof id);
  TILEPOST_BENCH_STATUS(ncclCommInitRank(&nccl_, plan_.ranks, id, rank_));
  tilepost_op_info_t info{};
  check_tilepost(tilepost_op_get_info(op_, &info), "tilepost_op_get_info");
  if (session_.options.lent_output) lent_output_ = info.out;
  if (entry_.own != nullptr) own_ = entry_.own();
  operands_ =
      std::make_unique<Operands>(plan_, info.out_elements, stream_.get(), own_ ? &*own_ : nullptr);
  if (session_.options.registered) register_outputs();
  Product product = operands_->product(0);
  product.m = static_cast<int>(rows_of(rank_));
  cublas_ =
      std::make_unique<CublasLt>(product, operands_->scale(), plan_.accumulate == TILEPOST_FAST, 0);
  if (cublas_->candidates() == 0 && entry_.own == nullptr)
    throw BenchError("cuBLASLt cannot compute this product");
  sequence_ = std::make_unique<Sequence>(plan_, rank_, session_.options.seed, *cublas_, nccl_);
  if (own_) sequence_->choose(AuthorsLaunch(plan_, *own_));
  place_ = out_place(plan_, rows_from_);
  flush_ = allocate(kFlushBytes);
  TILEPOST_BENCH_CUDA(cudaEventCreate(begin_.out()));
  TILEPOST_BENCH_CUDA(cudaEventCreate(end_.out()));
}

void RankBench::create_operation() {
  check_tilepost(tilepost_comm_init(&team_.ours_id, rank_, plan_.ranks, &comm_),
                 "tilepost_comm_init");
  check_tilepost(tilepost_op_create(comm_, entry_.program(), nullptr, &op_), "tilepost_op_create");
  if (is_routed(plan_)) set_route();
}

void RankBench::set_route() {
  const BenchRoute route = route_of(plan_, rank_, session_.options.seed);
  const tilepost_route_t wanted{sizeof wanted, -1, route.splits.data(), route.destinations.data()};
  tilepost_arrivals_t arrivals{};
  arrivals.struct_size = sizeof arrivals;
  check_tilepost(tilepost_op_route(op_, &wanted, &arrivals), "tilepost_op_route");
  if (!std::equal(rows_from_.begin(), rows_from_.end(), arrivals.rows_from))
    throw BenchError("tilepost_op_route announces other rows than were sent");
}

// If the operation has no use for registered outputs, it refuses the first one.
void RankBench::register_outputs() {
  for (int i = 0; i < operands_->count(); ++i) {
    const tilepost_result_t result =
        tilepost_op_register(op_, operands_->set(i).out, operands_->out_bytes());
    if (result == TILEPOST_UNSUPPORTED && i == 0) return;
    check_tilepost(result, "tilepost_op_register");
  }
  registered_ = true;
}

const char* RankBench::kind_of_out() const {
  if (lent_output_ != nullptr) return "own";
  return registered_ ? "registered" : "caller's";
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
        out_of(set), 0xff, static_cast<size_t>(operands_->out_bytes()), stream_.get()));
    sequence_->poison(stream_.get());
    set_ = 0;
    start(kSequence);
    set_ = 0;
    start(kOurs);
    count_different(out_of(set), plan_.output, place_.place(), sequence_->result(),
                    static_cast<int>(rows), static_cast<int>(plan_.map.n),
                    static_cast<unsigned long long*>(wrong.get()), stream_.get());
  }
  team_.elements[rank_] = turns * rows * plan_.map.n;
  TILEPOST_BENCH_CUDA(cudaMemcpyAsync(&team_.wrong[rank_], wrong.get(), sizeof(unsigned long long),
                                      cudaMemcpyDeviceToHost, stream_.get()));
  check_tilepost(tilepost_op_synchronize(op_), "tilepost_op_synchronize");
  TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream_.get()));
  operands_->fill_normal(session_.options.seed + static_cast<uint64_t>(rank_));
  sequence_->norm().fill_normal(session_.options.seed, stream_.get());
}

// Flushes L2, and puts the gate and then the first event on the stream.
void RankBench::begin_sample() {
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(flush_.get(), 0, kFlushBytes, stream_.get()));
  TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream_.get()));
  gate(team_.gate, ++gates_, stream_.get());
  TILEPOST_BENCH_CUDA(cudaEventRecord(begin_.get(), stream_.get()));
}

void RankBench::end_sample(int runs) {
  TILEPOST_BENCH_CUDA(cudaEventSynchronize(end_.get()));
  float milliseconds = 0;
  TILEPOST_BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
  team_.us[rank_] = static_cast<double>(milliseconds) * 1000 / runs;
}

void RankBench::enqueue(RankVariant variant, bool alone) {
  begin_sample();
  start(variant);
  if (alone) TILEPOST_BENCH_CUDA(cudaEventRecord(end_.get(), stream_.get()));
}

void RankBench::finish(RankVariant variant, int more) {
  if (rank_ == 0) __atomic_store_n(team_.gate, gates_, __ATOMIC_RELEASE);
  for (int i = 0; i < more; ++i) start(variant);
  if (more > 0) TILEPOST_BENCH_CUDA(cudaEventRecord(end_.get(), stream_.get()));
  end_sample(1 + more);
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
  begin_sample();
  TILEPOST_BENCH_CUDA(cudaGraphLaunch(graphs_[variant].get(), stream_.get()));
  TILEPOST_BENCH_CUDA(cudaEventRecord(end_.get(), stream_.get()));
}

void RankBench::finish_graph() {
  if (rank_ == 0) __atomic_store_n(team_.gate, gates_, __ATOMIC_RELEASE);
  end_sample(graph_runs_);
}

void RankBench::run_ours(const OperandSet& set) {
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = set.a;
  operands.b = set.b;
  operands.out = out_of(set);
  operands.m = TILEPOST_PLANNED_M;
  operands.user = const_cast<void**>(set.user);
  sequence_->norm().add_to(operands);
  check_tilepost(tilepost_op_run_with(op_, &operands, stream_.get()), "tilepost_op_run_with");
}

void RankBench::start(RankVariant variant) {
  const OperandSet& set = operands_->set(set_);
  set_ = (set_ + 1) % operands_->count();
  switch (variant) {
    case kOurs:
      run_ours(set);
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
