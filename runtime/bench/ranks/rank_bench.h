// One rank of an operation that is measured from end to end. The rank runs our operation, the
// sequence that it replaces, and the parts of that sequence alone. All ranks take every step
// together (harness::RankTeam).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <type_traits>

#include "runtime/bench/ranks/rank_clock.h"
#include "runtime/bench/ranks/rank_operation.h"
#include "runtime/bench/ranks/sequence.h"
#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"
#include "runtime/harness/rank_team.h"

namespace tilepost::bench {

// The variants that can be run. The records have their names.
enum RankVariant { kOurs, kSequence, kGemm, kCollective, kRankVariants };
inline constexpr const char* kRankVariantNames[] = {"ours", "sequence", "gemm", "collective"};

// The data that the ranks of one measurement share.
struct BenchTeam {
  // Throws BenchError.
  explicit BenchTeam(int ranks);

  harness::RankTeam steps;
  RankClocks clocks;
  tilepost_unique_id_t ours_id{}, nccl_id{};
  std::vector<int> candidates;            // [ranks] cuBLASLt's fastest candidates, from the ranks
                                          // that chose one
  std::vector<unsigned long long> wrong;  // [ranks] the number of wrong elements
  std::vector<int64_t> elements;          // [ranks] the number of elements that were compared
};

class RankBench {
 public:
  RankBench(const Entry& entry, const tilepost_plan_t& plan, const Session& session,
            BenchTeam& team, int rank);
  ~RankBench();
  RankBench(const RankBench&) = delete;
  RankBench& operator=(const RankBench&) = delete;

  // Makes the communicators, the operands, the operation and its route.
  void create();

  // Rank 0 finds the fastest GEMM of cuBLASLt. Ranks that multiply as many rows as rank 0 take the
  // same GEMM, and the others find their own.
  void choose();
  void take_choice() { sequence_->choose(team_.candidates[follows_first() ? 0 : rank_]); }

  // Compares our result with the sequence's on whole numbers. Their sums do not depend on the order
  // of the additions, so both results must have the same bits. Leaves the operands filled with
  // normal random numbers.
  void check();

  // RankOperation::kind_of_out of our operation.
  const char* kind_of_out() const { return ours_->kind_of_out(); }

  // Flushes L2 and enqueues one run behind the gate. `alone` is true if no run follows it.
  void enqueue(RankVariant variant, bool alone);
  // To be called when all ranks have enqueued. Opens the gate, enqueues `more` runs after the first
  // one (0 if it is alone), and waits for them. The measured time is that of one run.
  void finish(RankVariant variant, int more);

  // Captures `runs` runs, one after the other, in a graph.
  void make_graph(RankVariant variant, int runs);
  // Do the same as enqueue() and finish() with a replay of the graph of make_graph(). The measured
  // time is that of one of its runs.
  void enqueue_graph(RankVariant variant);
  void finish_graph();

 private:
  struct GraphDeleter {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };
  using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, GraphDeleter>;

  void start(RankVariant variant);
  int64_t rows_of(int rank) const { return rows_multiplied(plan_, rank, session_.options.seed); }
  bool follows_first() const { return rows_of(rank_) == rows_of(0); }

  const Entry& entry_;
  const tilepost_plan_t& plan_;
  const Session& session_;
  BenchTeam& team_;
  const int rank_;
  cuda::Stream stream_;
  std::optional<RankClock> clock_;
  std::optional<harness::PlainLaunch> own_;  // the launch of a user's own kernel
  std::unique_ptr<Operands> operands_;
  std::unique_ptr<CublasLt> cublas_;
  std::unique_ptr<Sequence> sequence_;
  tilepost_comm_t comm_ = nullptr;
  std::unique_ptr<RankOperation> ours_;
  ncclComm_t nccl_ = nullptr;
  std::array<Graph, kRankVariants> graphs_;
  int graph_runs_ = 1;
  int set_ = 0;
};

}  // namespace tilepost::bench
