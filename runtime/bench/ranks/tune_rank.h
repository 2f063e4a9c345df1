// One rank of `tilepost tune`: several operations that compute the same, with the same operands.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/bench/ranks/rank_clock.h"
#include "runtime/bench/ranks/rank_operation.h"
#include "runtime/bench/ranks/sequence.h"
#include "runtime/harness/rank_team.h"

namespace tilepost::bench {

// One of the plans that are measured against each other.
struct Contender {
  const Entry* entry;
  const tilepost_plan_t* plan;
  std::vector<std::string> faults;        // [ranks] why the operation could not be made; "": it was
  std::vector<unsigned long long> wrong;  // [ranks] the number of wrong elements
  std::vector<int64_t> elements;          // [ranks] the number of elements that were compared
  std::vector<double> us;                 // of each round in which it ran: the slowest rank's
  bool runs = true;                       // whether it is still measured
};

// The data that the ranks share. Rank 0 alone changes `runs`, `us` and `done`, between steps.
struct TuneTeam {
  // Throws BenchError.
  TuneTeam(int ranks, std::vector<Contender> all);

  harness::RankTeam steps;
  RankClocks clocks;
  tilepost_unique_id_t ours_id{}, nccl_id{};
  std::vector<Contender> contenders;
  bool done = false;
};

class TuneRank {
 public:
  TuneRank(const Session& session, TuneTeam& team, int rank);
  ~TuneRank();
  TuneRank(const TuneRank&) = delete;
  TuneRank& operator=(const TuneRank&) = delete;

  // Makes stream and communicators.
  void create();
  // Makes the operation of a contender. An error becomes one of the contender's faults.
  void create(size_t contender);
  // Makes the operands for all contenders that run, and what their results are compared with: the
  // sequence (sequence.h), or where the plan has an epilogue, which the sequence lacks, the first
  // contender that runs.
  void create_operands();
  // What results are compared with: "cublaslt and nccl", or the name of a program.
  const char* reference() const;

  // Compares a contender's result on whole numbers with the reference. Their sums do not depend on
  // the order of the additions, so both results must have the same bits.
  void check(size_t contender);
  // Fills the operands with normal random numbers, with which times are measured. Captures graphs,
  // where replays are measured.
  void prepare();

  // Puts one run on the stream, or one replay of a graph, behind the gate.
  void enqueue(size_t contender);
  // To be called when all ranks have enqueued. Opens the gate and takes the time.
  void finish();

 private:
  struct GraphDeleter {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };
  using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, GraphDeleter>;

  const tilepost_plan_t& plan() const { return *team_.contenders[first_].plan; }
  int64_t rows_of_result() const;
  void make_reference();
  void start(size_t contender);
  void capture(size_t contender);

  const Session& session_;
  TuneTeam& team_;
  const int rank_;
  size_t first_ = 0;  // the first contender that runs
  cuda::Stream stream_;
  std::optional<RankClock> clock_;
  std::optional<harness::PlainLaunch> own_;  // the launch of a user's own kernel
  tilepost_comm_t comm_ = nullptr;
  ncclComm_t nccl_ = nullptr;
  std::vector<std::unique_ptr<RankOperation>> operations_;  // [contenders] null: could not be made
  std::unique_ptr<Operands> operands_;
  std::unique_ptr<NormOperands> norm_;
  std::unique_ptr<CublasLt> cublas_;
  std::unique_ptr<Sequence> sequence_;  // null: results are compared with the first contender's
  cuda::DeviceMemory expected_;         // [rows, n] row-major, without a sequence
  std::vector<Graph> graphs_;           // [contenders]
  int set_ = 0;
};

}  // namespace tilepost::bench
