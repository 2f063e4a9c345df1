#include "runtime/bench/experts/expert_rank.h"

#include <utility>

#include "runtime/bench/experts/kernels.h"
#include "runtime/bench/experts/sums_reference.h"
#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost::bench {

ExpertRank::ExpertRank(const Entry& entry, const tilepost_plan_t& plan, const Session& session,
                       BenchTeam& team, int rank)
    : RankRuns(team, rank),
      entry_(entry),
      plan_(plan),
      session_(session),
      all_(draw_tokens(plan, session.options.load, session.options.seed)) {}

ExpertRank::~ExpertRank() {
  drop_graphs();
  tilepost_op_destroy(op_);
  tilepost_routing_destroy(routing_);
}

void ExpertRank::create() {
  connect(plan_.ranks);
  RankRows own;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    RankRows rows = sort_rows(plan_, all_, rank);
    rows_of_ranks_.push_back(rows.count());
    if (rank == rank_) own = std::move(rows);
  }
  check_bound();
  route(all_[rank_]);
  tilepost_options_t binding = tilepost_default_options();
  binding.routing = routing_;
  check_tilepost(tilepost_op_create(comm(), entry_.program(), &binding, &op_),
                 "tilepost_op_create");
  const int64_t tokens = share_rows(plan_.map);
  operands_ = row_of(plan_).combines()
                  ? std::make_unique<ExpertOperands>(plan_, plan_.most_rows, tokens, stream())
                  : std::make_unique<ExpertOperands>(plan_, tokens, plan_.most_rows, stream());
  sequence_ = make_expert_sequence(plan_, own, rank_, nccl());
}

void ExpertRank::check_bound() const {
  for (int rank = 0; rank < plan_.ranks; ++rank)
    if (rows_of_ranks_[rank] > plan_.most_rows)
      throw BenchError("rank " + std::to_string(rank) + " has " +
                       std::to_string(rows_of_ranks_[rank]) + " rows, and max_rows is " +
                       std::to_string(plan_.most_rows) +
                       "; raise it, or choose another load with --load");
}

// Makes the routing, and its tables. Collective.
void ExpertRank::route(const TokenIds& own) {
  check_tilepost(tilepost_routing_create(comm(), plan_.experts * plan_.ranks, plan_.top,
                                         share_rows(plan_.map), nullptr, &routing_),
                 "tilepost_routing_create");
  ids_ = upload(own.ids);
  weights_ = upload(own.weights);
  check_tilepost(tilepost_routing_set(routing_, ids_.get(), weights_.get(), own.tokens, stream()),
                 "tilepost_routing_set");
  check_tilepost(tilepost_routing_synchronize(routing_), "tilepost_routing_synchronize");
}

void ExpertRank::choose() {
  operands_->fill_normal(session_.options.seed, rank_);
  sequence_->choose(operands_->set(0), stream());
}

void ExpertRank::check() {
  const ExpertSet& set = operands_->set(0);
  const int64_t elements = sequence_->rows() * plan_.map.n;
  cuda::DeviceMemory wrong = allocate(sizeof(unsigned long long));
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(wrong.get(), 0, sizeof(unsigned long long), stream()));
  operands_->fill_exact(session_.options.seed, rank_);
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(
      set.out, 0xff, static_cast<size_t>(elements * element_bytes(plan_.output)), stream()));
  sequence_->poison(stream());
  set_ = 0;
  start(kSequence);
  set_ = 0;
  start(kOurs);
  count_apart(set.out, sequence_->result(), elements, plan_.output, plan_.epilogue & kGateOps,
              static_cast<unsigned long long*>(wrong.get()), stream());
  team_.elements[rank_] = elements;
  check_tilepost(tilepost_op_synchronize(op_), "tilepost_op_synchronize");
  team_.wrong[rank_] = read_number(wrong.get(), stream());
  if (row_of(plan_).combines()) {
    const SampledCheck sampled =
        check_sums(plan_, all_, rank_, session_.options.seed, sequence_->result(), stream());
    team_.sampled[rank_] = sampled.elements;
    team_.sampled_wrong[rank_] = sampled.wrong;
  }
  operands_->fill_normal(session_.options.seed, rank_);
}

std::string ExpertRank::rows_in_words() const {
  std::string text = "rows of ranks:";
  for (size_t rank = 0; rank < rows_of_ranks_.size(); ++rank)
    text += (rank > 0 ? ", " : " ") + std::to_string(rows_of_ranks_[rank]);
  return text + "; tables of the routing are made before times are taken";
}

void ExpertRank::start(RankVariant variant) {
  const ExpertSet& set = operands_->set(set_);
  set_ = (set_ + 1) % operands_->count();
  switch (variant) {
    case kOurs: {
      tilepost_run_operands_t run{};
      run.struct_size = sizeof run;
      run.a = set.a;
      run.b = set.b;
      run.out = set.out;
      run.m = TILEPOST_PLANNED_M;
      check_tilepost(tilepost_op_run_with(op_, &run, stream()), "tilepost_op_run_with");
      break;
    }
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
