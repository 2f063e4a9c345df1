#include "runtime/bench/experts/expert_rank.h"

#include <algorithm>

#include "runtime/bench/experts/kernels.h"
#include "runtime/map/tile_map.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost::bench {

ExpertRank::ExpertRank(const Entry& entry, const tilepost_plan_t& plan, const Session& session,
                       BenchTeam& team, int rank)
    : RankRuns(team, rank), entry_(entry), plan_(plan), session_(session) {}

ExpertRank::~ExpertRank() {
  drop_graphs();
  tilepost_op_destroy(op_);
  tilepost_routing_destroy(routing_);
}

void ExpertRank::create() {
  connect(plan_.ranks);
  const HarnessOptions& options = session_.options;
  const std::vector<TokenIds> all = draw_tokens(plan_, options.load, options.seed);
  for (int rank = 0; rank < plan_.ranks; ++rank)
    rows_of_ranks_.push_back(sort_rows(plan_, all, rank).count());
  route(all[rank_]);
  tilepost_options_t binding = tilepost_default_options();
  binding.routing = routing_;
  check_tilepost(tilepost_op_create(comm(), entry_.program(), &binding, &op_),
                 "tilepost_op_create");
  operands_ =
      std::make_unique<ExpertOperands>(plan_, share_rows(plan_.map), plan_.most_rows, stream());
  sequence_ = std::make_unique<ExpertSequence>(plan_, sort_rows(plan_, all, rank_), nccl());
}

// Makes the routing, and its tables. Collective.
void ExpertRank::route(const TokenIds& own) {
  check_tilepost(tilepost_routing_create(comm(), plan_.experts * plan_.ranks, plan_.top,
                                         share_rows(plan_.map), nullptr, &routing_),
                 "tilepost_routing_create");
  ids_ = upload(own.ids);
  weights_ = upload(std::vector<float>(own.ids.size(), 1.0f / static_cast<float>(plan_.top)));
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
