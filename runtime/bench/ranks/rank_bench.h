// One rank of an operation that is measured from end to end. The rank runs our operation, the
// sequence that it replaces, and the parts of that sequence alone. All ranks take every step
// together (harness::RankTeam).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <type_traits>

#include "runtime/bench/gemm/place.h"
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
  cuda::PinnedMemory gate_memory;
  uint32_t* gate = nullptr;  // all ranks wait for this word before a run
  tilepost_unique_id_t ours_id{}, nccl_id{};
  std::vector<int> candidates;            // [ranks] cuBLASLt's fastest candidates, from the ranks
                                          // that chose one
  std::vector<double> us;                 // [ranks] the time of the run that was finished last
  std::vector<unsigned long long> wrong;  // [ranks] the number of wrong elements
  std::vector<int64_t> elements;          // [ranks] the number of elements that were compared

  double slowest() const;
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

  // The kind of memory that our runs have as their out: "own", the operation's memory
  // (tilepost_op_info_t::out), "registered" (tilepost_op_register) or "caller's".
  const char* kind_of_out() const;

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

  void begin_sample();
  void end_sample(int runs);
  void create_operation();
  void set_route();
  void register_outputs();
  void run_ours(const OperandSet& set);
  void start(RankVariant variant);
  int64_t rows_of(int rank) const { return rows_multiplied(plan_, rank, session_.options.seed); }
  bool follows_first() const { return rows_of(rank_) == rows_of(0); }
  void* out_of(const OperandSet& set) const {
    return lent_output_ != nullptr ? lent_output_ : set.out;
  }

  const Entry& entry_;
  const tilepost_plan_t& plan_;
  const Session& session_;
  BenchTeam& team_;
  const int rank_;
  const std::vector<int64_t> rows_from_;
  cuda::Stream stream_;
  cuda::Event begin_, end_;
  cuda::DeviceMemory flush_;
  PlaceTable place_;  // the place of out
  void* lent_output_ = nullptr;
  bool registered_ = false;
  std::optional<harness::PlainLaunch> own_;  // the launch of a user's own kernel
  std::unique_ptr<Operands> operands_;
  std::unique_ptr<CublasLt> cublas_;
  std::unique_ptr<Sequence> sequence_;
  tilepost_comm_t comm_ = nullptr;
  tilepost_op_t op_ = nullptr;
  ncclComm_t nccl_ = nullptr;
  std::array<Graph, kRankVariants> graphs_;
  int graph_runs_ = 1;
  uint32_t gates_ = 0;
  int set_ = 0;
};

}  // namespace tilepost::bench
