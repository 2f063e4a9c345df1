// One operation on one GPU: a program's plan for this device and all that its runs need.
//
// runtime/cuda/op/create.cpp makes it, runtime/cuda/op/warm_up.cpp runs its collectives once,
// runtime/cuda/op/check_run.cpp checks a run's arguments, runtime/cuda/op/run.cpp puts runs on the
// streams, runtime/cuda/op/communicate.cpp has what follows the GEMM (or comes before it),
// runtime/cuda/op/set_route.cpp sets routes, op.cpp has the rest.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/object.h"
#include "runtime/core/operands.h"
#include "runtime/core/route.h"
#include "runtime/cuda/device/device.h"
#include "runtime/cuda/device/launch.h"
#include "runtime/cuda/device/tensor_maps.h"
#include "runtime/cuda/op/device_map.h"
#include "runtime/cuda/op/run_state.h"
#include "runtime/cuda/op/watchdog.h"
#include "runtime/cuda/transport/comm.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {

class CudaOp final : public tilepost_op {
 public:
  CudaOp(const tilepost_program_t& program, const tilepost_options_t& options)
      : program_(program), options_(options) {}
  CudaOp(const CudaOp&) = delete;
  CudaOp& operator=(const CudaOp&) = delete;
  ~CudaOp() override;

  // Once, on the communicator's device. Collective.
  tilepost_result_t create(Communicator& comm);

  tilepost_result_t run(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) override;
  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  tilepost_result_t get_info(tilepost_op_info_t& info) override;
  const char* warnings() override { return warnings_.c_str(); }

 private:
  // One run, as it is put on the streams.
  struct Run {
    Bank bank;
    const DeviceMap* map;
    const RunRecord* facts;
    cudaStream_t user;  // has the GEMM
    cudaStream_t comm;  // lane 0: waits and collectives; the same when nothing is beside the GEMM
    cudaEvent_t begin;  // eager runs: for the tracker
    cudaEvent_t fork, end;  // where the lanes begin, and the run ends
    const tilepost_run_operands_t* operands;
    tilepost_epilogue_t epilogue;
    Buffers buffers;
    GemmArguments gemm;  // of a rank that has rows
    bool begun;          // other ranks take it that this run comes

    const RunMap& plan() const { return *map->run; }
    bool overlaps() const { return plan().overlaps; }
  };

  // Making.
  tilepost_result_t allocate(const Communicator& comm);
  tilepost_result_t allocate_buffers();
  tilepost_result_t add_buffer(DeviceMemory& memory, int64_t bytes);
  tilepost_result_t make_streams();
  tilepost_result_t load_kernels();
  tilepost_result_t warm_up();
  tilepost_result_t warm_up_with(void* scratch);
  tilepost_result_t warm_up_groups(void* scratch);
  tilepost_result_t warm_up_shared(void* scratch);
  int64_t scratch_bytes() const;
  tilepost_result_t warm_up_exchange();
  tilepost_result_t finish_warm_up();
  tilepost_result_t finish_in_time(const std::string& what);

  // Checking a run's arguments.
  tilepost_result_t check_usable() const;
  tilepost_result_t check_run(const tilepost_run_operands_t& operands,
                              const EpilogueOperands& epilogue, cudaStream_t stream,
                              cudaStreamCaptureStatus capture);
  tilepost_result_t check_pointer(const EpilogueOperand& operand);
  tilepost_result_t check_gathered(const tilepost_run_operands_t& operands,
                                   const RunMap& run) const;

  // Putting a run on the streams.
  tilepost_result_t find_map(const tilepost_run_operands_t& operands, bool capturing,
                             DeviceMap*& map);
  tilepost_result_t run_eager(Run& run, DeviceMap& map);
  tilepost_result_t run_captured(Run& run);
  tilepost_result_t give_up(const Run& run, tilepost_result_t result);
  tilepost_result_t wait_for_room();
  tilepost_result_t follow_last_run(cudaStream_t stream);
  tilepost_result_t follow_others(const Run& run);
  tilepost_result_t let_others_follow(const Run& run);
  tilepost_result_t warm_up_map(const Run& run, DeviceMap& map);
  tilepost_result_t start(Run& run);
  tilepost_result_t begin_sharing(Run& run);
  tilepost_result_t finish(const Run& run);
  tilepost_result_t find_arguments(Run& run);
  tilepost_result_t find_tensor_maps(const Run& run, GemmArguments& arguments);
  void find_view(const Run& run, tilepost_view_t& view);
  void find_tasks(const Run& run, tilepost_tasks_t& tasks);
  tilepost_result_t launch(const Run& run);
  Buffers buffers_of(const tilepost_run_operands_t& operands, bool overlaps) const;
  void* received_of(const tilepost_run_operands_t& operands, bool overlaps) const;
  void* kernel_output(const tilepost_run_operands_t& operands, bool overlaps) const;
  void* gathered_of(const tilepost_run_operands_t& operands, bool overlaps) const;

  // What comes after the GEMM, or before it.
  tilepost_result_t communicate(const Run& run);
  tilepost_result_t communicate_group(const Run& run, int group);
  tilepost_result_t hand_out_gathered(const Run& run);
  tilepost_result_t copy_gathered(const Run& run, int64_t first_row, int64_t end_row);
  tilepost_result_t fork_lanes(const Run& run);
  tilepost_result_t join_lanes(const Run& run);
  tilepost_result_t join(const Run& run);
  tilepost_result_t end_apart(const Run& run, cudaStream_t last);
  // The run as lane `lane` sees it: its own stream and scratch memory.
  Run on_lane(const Run& run, int lane) const;
  tilepost_result_t wait_for_group(const Run& run, int group);
  tilepost_result_t poll_for_group(const Run& run, int group);
  tilepost_result_t wait_on_stream(const Run& run, int group);
  tilepost_result_t post_arrival(const Run& run, int group);
  tilepost_result_t unpermute(const Run& run, int group);
  tilepost_result_t unpermute_slots(const Run& run, const tilepost_group_t& group);
  tilepost_result_t unpermute_slabs(const Run& run, int group);
  tilepost_result_t normalise(const Run& run);

  // Routes.
  tilepost_result_t exchange(std::span<const int64_t> own, std::vector<int64_t>& all);
  tilepost_result_t set_route(const RouteInputs& inputs);

  // Lanes of a run that overlaps.
  int num_lanes() const { return 1 + static_cast<int>(more_lanes_.size()); }
  // The lane of a group. Where memory is shared, lanes are the transport's own.
  int lane_of(const Run& run, int group) const {
    if (!run.overlaps() || gathers()) return 0;
    return group % (shared() != nullptr ? std::max(1, plan_->comm_lanes) : num_lanes());
  }
  // Whether the GEMM's helper warps carry out steps of a run, and whether nothing follows them.
  // Then the run ends where the GEMM does, and needs no other stream.
  bool tasks(const Run& run) const { return has_tasks(*plan_, run.overlaps()); }
  bool completes(const Run& run) const { return completes_out(*plan_, run.overlaps()); }
  // Whether the communication stream brings the GEMM's input while it runs.
  bool arrives(const Run& run) const { return gathers() && run.overlaps() && !completes(run); }
  // Whether the GEMM reads this rank's own rows where the caller has them.
  bool reads_own_rows(const Run& run) const { return spreads_own_rows(*plan_, run.overlaps()); }
  bool gathers() const { return plan_->pattern == TILEPOST_ALL_GATHER_GEMM; }
  int64_t row_bytes_of_a() const { return plan_->k * element_bytes(plan_->input); }
  bool reads() const { return plan_->access == TILEPOST_ACCESS_READ; }
  bool writes() const { return plan_->access == TILEPOST_ACCESS_WRITE; }
  // Whether tiles go to the ranks that own their rows.
  bool stores_by_owner() const { return stores_tiles(*plan_); }
  // The memory of runs that overlap which other ranks touch; null where none do.
  const SharedRegions* shared() const {
    return state_.transports.shared ? &state_.transports.shared->regions() : nullptr;
  }
  // Of operations that share this memory with each other; null where none do.
  RunOrder* shared_order() const {
    return state_.transports.shared ? state_.transports.shared->order() : nullptr;
  }
  // The memory of runs that overlap which NCCL was asked to know as a window; null where none is.
  const WindowMemory* windows() const { return state_.transports.windows.get(); }
  // Whether a run uses the memory that ranks share. Others then wait for its end: the same on all
  // ranks.
  bool shares(bool overlaps) const {
    return shared() != nullptr &&
           (overlaps || gathers() || (reads() && stores_apart(*plan_, false)));
  }
  bool unpermutes() const { return plan_->consumer == TILEPOST_CONSUMER_UNPERMUTE; }

  std::shared_ptr<RunOrder> order_;  // of the communicator
  const tilepost_program_t& program_;
  const tilepost_options_t options_;
  const tilepost_plan_t* plan_ = nullptr;
  DeviceInfo device_;
  Driver driver_;
  PeerPlaces places_;
  DeviceMaps maps_;
  int64_t rows_routed_ = -1;  // of the route set last; -1 before the first one
  Arrivals arrivals_;
  int64_t device_bytes_ = 0;
  RunSizes sizes_;  // what the buffers have, in elements; scratch: of a lane
  DeviceMemory
      send_;  // where the kernel stores, unless into out, a window, or memory that is shared
  DeviceMemory received_;   // what steps receive, where a consumer comes before out; no window, and
                            // not shared
  DeviceMemory gathered_;   // all_gather_gemm: all rows of A, for runs that bring no memory for it,
                            // where none is shared or a window
  DeviceMemory scratch_;    // by lane
  DeviceMemory exchanged_;  // routed: numbers that ranks tell each other: own, then all
  PinnedMemory exchange_staging_;
  TensorMapCache tensor_maps_;
  Stream comm_stream_;
  std::vector<Stream> more_lanes_;  // the streams of lane 1 on
  std::vector<Event> lane_ends_;    // [bank * num_lanes() + lane]
  Event fork_;
  Event captured_fork_, captured_end_;  // events that were captured cannot be queried any more
  RunState state_;
  Watchdog watchdog_;
  bool made_ = false;  // create() has come to its end
  std::string warnings_;
  unsigned long long last_stream_ = 0;     // cudaStreamGetId of the last eager run's
  std::array<const void*, 32> checked_{};  // pointers that have passed check_pointer
  int next_checked_ = 0;
};

// Makes an operation of a communicator that has not been aborted. Collective.
tilepost_result_t make_op(Communicator& comm, const tilepost_program_t& program,
                          const tilepost_options_t& options, std::unique_ptr<tilepost_op>& op);

}  // namespace tilepost::cuda
