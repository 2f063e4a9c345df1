#include "runtime/bench/ranks/rank_bench.h"

#include "runtime/bench/gemm/cublas_lt.h"
#include "runtime/bench/gemm/cublas_rows.h"
#include "runtime/bench/gpu/checked.h"

namespace tilepost::bench {

RankBench::RankBench(const Entry& entry, const tilepost_plan_t& plan, const Session& session,
                     BenchTeam& team, int rank)
    : RankRuns(team, rank), entry_(entry), plan_(plan), session_(session) {}

RankBench::~RankBench() {
  drop_graphs();
}

void RankBench::create() {
  connect(plan_.ranks);
  ours_ = std::make_unique<RankOperation>(entry_, plan_, session_, comm(), rank_);
  if (entry_.own != nullptr) own_ = entry_.own();
  operands_ =
      std::make_unique<Operands>(plan_, ours_->out_elements(), stream(), own_ ? &*own_ : nullptr);
  if (session_.options.registered) ours_->register_outputs(*operands_);
  Product product = operands_->product(0);
  product.m = static_cast<int>(rows_of(rank_));
  cublas_ = std::make_unique<CublasLt>(product, rows_for_cublas(plan_, product.m),
                                       operands_->scale(), plan_.accumulate == TILEPOST_FAST, 0);
  if (cublas_->candidates() == 0 && entry_.own == nullptr)
    throw BenchError("cuBLASLt cannot compute this product");
  sequence_ = std::make_unique<Sequence>(plan_, rank_, session_.options.seed, *cublas_, nccl());
  if (own_) sequence_->choose(AuthorsLaunch(plan_, *own_));
}

void RankBench::choose() {
  operands_->fill_normal(session_.options.seed + static_cast<uint64_t>(rank_));
  if (entry_.own != nullptr || (rank_ != 0 && follows_first())) return;
  const std::function<void()> quiet = [] {};  // one rank's sign of life is enough
  Timer timer(stream(), operands_->count(), session_.nvml, session_.options.seed,
              rank_ == 0 ? session_.alive : quiet);
  team_.candidates[rank_] = fastest_candidate(*cublas_, *operands_, kCool, timer, stream());
}

void RankBench::check() {
  const OperandSet& set = operands_->set(0);
  const int64_t rows = sequence_->result_rows();
  cuda::DeviceMemory wrong = allocate(sizeof(unsigned long long));
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(wrong.get(), 0, sizeof(unsigned long long), stream()));
  // If only the kernel knows what it computes, its sums are rounded, in an order that depends on
  // the transport. So the check takes one turn for each rank, in which only that rank's A is not
  // zero.
  const int turns = own_ && own_->is_opaque() && row_of(plan_).sums ? plan_.ranks : 1;
  for (int turn = 0; turn < turns; ++turn) {
    operands_->fill_exact(session_.options.seed, rank_);
    if (turns > 1 && rank_ != turn) operands_->clear_a();
    sequence_->norm().fill_normal(session_.options.seed, stream());
    sequence_->norm().clear_residuals(stream());
    TILEPOST_BENCH_CUDA(cudaMemsetAsync(ours_->out_of(set), 0xff,
                                        static_cast<size_t>(operands_->out_bytes()), stream()));
    sequence_->poison(stream());
    set_ = 0;
    start(kSequence);
    set_ = 0;
    start(kOurs);
    count_different(ours_->out_of(set), plan_.output, ours_->place(), sequence_->result(),
                    static_cast<int>(rows), static_cast<int>(plan_.map.n),
                    static_cast<unsigned long long*>(wrong.get()), stream());
  }
  team_.elements[rank_] = turns * rows * plan_.map.n;
  ours_->synchronize();
  team_.wrong[rank_] = read_number(wrong.get(), stream());
  operands_->fill_normal(session_.options.seed + static_cast<uint64_t>(rank_));
  sequence_->norm().fill_normal(session_.options.seed, stream());
}

void RankBench::start(RankVariant variant) {
  const int chosen = set_;
  const OperandSet& set = operands_->set(chosen);
  set_ = (set_ + 1) % operands_->count();
  switch (variant) {
    case kOurs:
      ours_->run(*operands_, chosen, sequence_->norm(), stream());
      break;
    case kSequence:
      sequence_->run(set, stream());
      break;
    case kGemm:
      sequence_->gemm(set, stream());
      break;
    case kCollective:
      sequence_->communicate(set, stream());
      break;
    case kRankVariants:
      break;
  }
}

}  // namespace tilepost::bench
