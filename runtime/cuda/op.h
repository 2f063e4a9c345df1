// One operation on one GPU: a program's plan for this device and all that its runs need.
//
// op_create.cpp makes it, op_run.cpp runs it, op.cpp has the rest.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/core/object.h"
#include "runtime/core/operands.h"
#include "runtime/cuda/comm.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/run_state.h"
#include "runtime/cuda/schedule.h"
#include "runtime/cuda/tensor_maps.h"
#include "runtime/cuda/watchdog.h"

namespace tilepost::cuda {

class CudaOp final : public tilepost_op {
 public:
  CudaOp(const tilepost_program_t& program, const tilepost_options_t& options)
      : program_(program), options_(options) {}
  CudaOp(const CudaOp&) = delete;
  CudaOp& operator=(const CudaOp&) = delete;
  ~CudaOp() override;

  // Once, on the communicator's device. Collective.
  tilepost_result_t create(CudaComm& comm);

  tilepost_result_t run(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  tilepost_result_t get_info(tilepost_op_info_t& info) override;
  const char* warnings() override { return warnings_.c_str(); }

 private:
  // One run, as it is put on the streams.
  struct Run {
    Bank bank;
    uint32_t epoch;     // 1 for a captured run, whose counters start from zero
    cudaStream_t user;  // has the GEMM
    cudaStream_t comm;  // lane 0: waits and collectives; the same when nothing overlaps
    cudaEvent_t begin, end;
    const void* a;
    const void* b;
    void* out;
    tilepost_epilogue_t epilogue;
  };

  tilepost_result_t allocate(const CudaComm& comm);
  tilepost_result_t make_streams();
  tilepost_result_t load_kernels();
  tilepost_result_t warm_up();
  tilepost_result_t warm_up_with(void* buffer);
  tilepost_result_t finish_warm_up();

  tilepost_result_t check_run(const tilepost_run_operands_t& operands,
                              const EpilogueOperands& epilogue, cudaStream_t stream,
                              cudaStreamCaptureStatus capture);
  tilepost_result_t check_pointer(const EpilogueOperand& operand);
  tilepost_result_t run_eager(Run& run);
  tilepost_result_t run_captured(Run& run);
  tilepost_result_t wait_for_room();
  tilepost_result_t follow_last_run(cudaStream_t stream);
  tilepost_result_t start(const Run& run);
  tilepost_result_t communicate(const Run& run);
  tilepost_result_t fork_lanes(const Run& run);
  tilepost_result_t join_lanes(const Run& run);
  // The run as lane `lane` sees it: its own stream.
  Run on_lane(const Run& run, int lane) const;
  tilepost_result_t wait_for_group(const Run& run, int group);
  tilepost_result_t poll_for_group(const Run& run, int group);
  tilepost_result_t wait_on_stream(const Run& run, int group);
  tilepost_result_t consume(const Run& run, const tilepost_group_t& block);
  tilepost_result_t join(const Run& run);

  int num_lanes() const { return 1 + static_cast<int>(more_lanes_.size()); }
  bool unpermutes() const { return plan_->consumer == TILEPOST_CONSUMER_UNPERMUTE; }
  void* send_buffer(void* out) const { return unpermutes() ? staging_.get() : out; }
  int64_t send_bytes() const { return schedule_.map.send_elements * int64_t{sizeof(uint16_t)}; }

  const tilepost_program_t& program_;
  const tilepost_options_t options_;
  const tilepost_plan_t* plan_ = nullptr;
  DeviceInfo device_;
  Driver driver_;
  Schedule schedule_;
  DeviceMemory staging_;                  // slots; only if they are unpermuted into the output
  std::vector<tilepost_group_t> blocks_;  // the groups, or all of the output when nothing overlaps
  TensorMapCache tensor_maps_;
  Stream comm_stream_;
  std::vector<Stream> more_lanes_;       // the streams of lane 1 on
  std::vector<Event> lane_ends_;         // [bank * more_lanes_.size() + lane - 1]
  Event captured_begin_, captured_end_;  // events that were captured cannot be queried any more
  RunState state_;
  Watchdog watchdog_;
  std::string warnings_;
  unsigned long long last_stream_ = 0;     // cudaStreamGetId of the last eager run's
  std::array<const void*, 16> checked_{};  // pointers that have passed check_pointer
  int next_checked_ = 0;
};

}  // namespace tilepost::cuda
