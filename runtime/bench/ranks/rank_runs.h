// Runs of an operation, and of what it is measured against, on one rank. All ranks take every step
// together (harness::RankTeam), and times are those of a common clock (rank_clock.h).
#pragma once

#include <nccl.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/bench/ranks/rank_clock.h"
#include "runtime/harness/rank_team.h"
#include "tilepost/tilepost.h"

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
  // [ranks] The same of the sequence's result, where it was compared with a reference of its own.
  std::vector<unsigned long long> sampled_wrong;
  std::vector<int64_t> sampled;
};

class RankRuns {
 public:
  RankRuns(BenchTeam& team, int rank) : team_(team), rank_(rank) {}
  virtual ~RankRuns();
  RankRuns(const RankRuns&) = delete;
  RankRuns& operator=(const RankRuns&) = delete;

  // Makes the communicators, the operands, the operation and its route.
  virtual void create() = 0;
  // Finds the fastest GEMMs of cuBLASLt. A rank may leave that to another one. When all ranks have
  // called choose(), take_choice() takes what was found.
  virtual void choose() = 0;
  virtual void take_choice() = 0;
  // Compares our result with the sequence's on whole numbers, and tells the team. Leaves the
  // operands filled with normal random numbers.
  virtual void check() = 0;
  // RankOperation::kind_of_out of our operation.
  virtual const char* kind_of_out() const = 0;
  // What there is to say of this rank's rows, or "".
  virtual std::string rows_in_words() const { return ""; }

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

 protected:
  // Puts a run on the stream.
  virtual void start(RankVariant variant) = 0;

  // Makes stream, clock and communicators for `ranks` ranks.
  void connect(int ranks);
  // To be called before what the graphs use is destroyed.
  void drop_graphs();

  cudaStream_t stream() const { return stream_.get(); }
  tilepost_comm_t comm() const { return comm_; }
  ncclComm_t nccl() const { return nccl_; }

  BenchTeam& team_;
  const int rank_;

 private:
  struct GraphDeleter {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };
  using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, GraphDeleter>;

  cuda::Stream stream_;
  std::optional<RankClock> clock_;
  tilepost_comm_t comm_ = nullptr;
  ncclComm_t nccl_ = nullptr;
  std::array<Graph, kRankVariants> graphs_;
  int graph_runs_ = 1;
};

}  // namespace tilepost::bench
