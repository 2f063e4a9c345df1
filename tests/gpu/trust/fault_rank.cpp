#include "tests/gpu/trust/fault_rank.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "tests/gpu/checker.h"
#include "tests/gpu/trust/report.h"

namespace gpu_test {
namespace {

constexpr int kReplaysAhead = 8;  // the runtime does not bound the launches of a graph

class FaultRank {
 public:
  FaultRank(const tilepost_program_t& program, int rank, double deadline)
      : program_(program), rank_(rank), deadline_(deadline) {
    for (cudaEvent_t& event : events_)
      CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }

  std::string join(const std::string& id) {
    begin_ = Clock::now();
    const int world = plan_of(program_).ranks;
    if (const auto status = tilepost::Comm::init(from_hex(id), rank_, world, comm_); !status)
      return error(status);
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = deadline_;
    if (const auto status = tilepost::Op::create(comm_, &program_, op_, options); !status)
      return error(status);
    checker_ = std::make_unique<Checker>(program_, op_, rank_, 1);
    // A run has to be eager before it can be captured.
    const std::string checked = check(false, 1, 1);
    if (checked == "ok") captured_ = std::make_unique<CapturedRun>(*checker_, op_);
    return checked;
  }

  std::string check(bool graph, int runs, uint32_t seed) {
    begin_ = Clock::now();
    for (int i = 0; i < runs; ++i) {
      checker_->fill_set(0, seed + i);
      if (const auto status = start(graph); !status) return error(status);
      checker_->check_set(0, seed + i);
      if (const auto status = finish(graph); !status) return error(status);
      if (const auto wrong = checker_->mismatches(); wrong != 0)
        return "wrong: " + std::to_string(wrong) + " elements in run " + std::to_string(i + 1) +
               " of " + std::to_string(runs);
    }
    return "ok";
  }

  std::string load(bool graph, int runs, double seconds) {
    begin_ = Clock::now();
    tilepost::Status failed;
    int i = 0;
    for (; i < runs && seconds_since(begin_) < seconds && failed; ++i) {
      if (graph) failed = wait_for_replay(i, seconds);
      if (failed) failed = start(graph);
      if (failed && graph) CUDA_OK(cudaEventRecord(events_[i % kReplaysAhead], checker_->stream()));
    }
    // The status of a refused run does not have the error before it.
    const tilepost::Status ended = finish(graph);
    if (!ended) return error(ended);
    return failed ? "fine after " + std::to_string(i) + " runs" : error(failed);
  }

  std::string free() {
    captured_.reset();
    op_ = tilepost::Op();
    checker_.reset();
    comm_ = tilepost::Comm();
    return "ok";
  }

 private:
  std::string error(const tilepost::Status& status) const {
    return "error " + in_text(seconds_since(begin_)) + " " + described(status);
  }

  tilepost::Status start(bool graph) {
    if (!graph) return checker_->run_set(op_, 0);
    if (const auto status = op_.status(); !status && !status.in_progress()) return status;
    if (const cudaError_t failed = captured_->launch(checker_->stream()); failed != cudaSuccess)
      std::fprintf(stderr, "rank %d: cudaGraphLaunch: %s\n", rank_, cudaGetErrorString(failed));
    return {};
  }

  // tilepost_op_synchronize may return before the device has begun a replay.
  tilepost::Status finish(bool graph) {
    if (!graph) return op_.synchronize();
    for (;;) {
      const bool done = cudaStreamQuery(checker_->stream()) != cudaErrorNotReady;
      const tilepost::Status status = op_.status();
      if (!status.in_progress() && (!status || done)) return status;
      usleep(100);
    }
  }

  tilepost::Status wait_for_replay(int i, double seconds) {
    while (i >= kReplaysAhead && cudaEventQuery(events_[i % kReplaysAhead]) == cudaErrorNotReady) {
      if (const auto status = op_.status(); !status && !status.in_progress()) return status;
      if (seconds_since(begin_) > seconds) break;
      usleep(50);
    }
    return {};
  }

  const tilepost_program_t& program_;
  const int rank_;
  const double deadline_;
  Clock::time_point begin_;
  tilepost::Comm comm_;
  tilepost::Op op_;
  std::unique_ptr<Checker> checker_;
  std::unique_ptr<CapturedRun> captured_;
  cudaEvent_t events_[kReplaysAhead];
};

}  // namespace

int run_fault_rank(int argc, char** argv) {
  EXPECT(argc == 5, "rank, device, program, deadline, host");
  if (*argv[4] != '\0') setenv("NCCL_HOSTID", argv[4], 1);
  Orders orders;
  ::signal(SIGUSR1, [](int) { _exit(0); });
  const tilepost_program_t* program = find_program(argv[2]);
  EXPECT(program != nullptr, argv[2]);
  CUDA_OK(cudaSetDevice(std::atoi(argv[1])));
  preload();
  auto rank = std::make_unique<FaultRank>(*program, std::atoi(argv[0]), std::atof(argv[3]));
  orders.answer("ready");
  for (;;) {
    const std::vector<std::string> words = orders.next();
    const std::string& order = words.at(0);
    const bool graph = words.size() > 1 && words[1] == "graph";
    if (order == "id") {
      tilepost_unique_id_t id{};
      TILEPOST_OK_(tilepost::Status(tilepost_get_unique_id(&id)));
      orders.answer("id " + to_hex(id));
    } else if (order == "join") {
      orders.answer(rank->join(words.at(1)));
    } else if (order == "check") {
      orders.answer(rank->check(graph, std::stoi(words.at(2)),
                                static_cast<uint32_t>(std::stoul(words.at(3)))));
    } else if (order == "load") {
      orders.answer(rank->load(graph, std::stoi(words.at(2)), std::stod(words.at(3))));
    } else if (order == "free") {
      orders.answer(rank->free());
    } else if (order == "leave") {
      rank.release();
      std::exit(0);
    } else {
      EXPECT(order == "quit", order);
      return 0;
    }
  }
}

}  // namespace gpu_test
