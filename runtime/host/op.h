// One operation on one rank of the host target.
//
// `workers` threads compute tiles; one more thread per operation communicates: it waits for each
// group's counter and takes part in the group's AllReduce while the workers go on with later
// groups. Runs queue up; the next one starts when the last one of this rank is complete.
#pragma once

#include <thread>
#include <vector>

#include "runtime/core/object.h"
#include "runtime/host/check.h"
#include "runtime/host/group.h"

namespace tilepost {

class HostOp final : public tilepost_op {
 public:
  // `name` and plan.plan belong to the program, which outlives the operation.
  HostOp(std::shared_ptr<HostGroup> group, int rank, const char* name, HostPlan plan, int workers,
         double deadline_seconds);
  ~HostOp() override;

  // Starts the threads; throws std::system_error if the system has no more.
  void start();

  tilepost_result_t run(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  tilepost_result_t get_info(tilepost_op_info_t& info) override;

 private:
  // A posted run. Runs count from 1; run r lives in queue_[r % kQueueLength].
  struct Request {
    uint64_t ticket;
    const void* a;
    const void* b;
    void* out;
    tilepost_epilogue_t epilogue;
  };
  // Groups that one collective covers: one, or all where the transport is none.
  struct Step {
    int first_group, end_group;
    int64_t offset, count;
  };

  // What the operation's threads do (op_threads.cpp).
  void work(int worker);
  void communicate();
  bool next_request(uint64_t run, Request& request);
  bool communicate_step(const Step& step, uint64_t run, void* out);
  bool wait_group(const HostStep& place, int group, uint64_t run);
  bool wait_workers(uint64_t run);

  bool idle() const { return finished_ == posted_; }
  tilepost_result_t result() const;
  void* send_buffer(void* out) { return staging_.empty() ? out : staging_.data(); }

  const std::shared_ptr<HostGroup> group_;
  const int rank_;
  const char* const name_;
  const tilepost_plan_t& plan_;
  const TileMap map_;
  const double deadline_seconds_;
  const int num_workers_;
  uint64_t operation_ = 0;
  std::vector<uint32_t> counters_;
  std::vector<uint16_t> staging_;  // the slots, where a pass makes the output row-major
  std::vector<int32_t> rows_;      // tilepost_op_info_t::rows
  std::vector<Step> steps_;

  HostStream& stream_;  // its mutex guards all below
  std::vector<Request> queue_;
  uint64_t posted_ = 0;
  uint64_t finished_ = 0;
  uint64_t returned_ = 0;  // calls of the kernel that have returned, over all runs
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tilepost
