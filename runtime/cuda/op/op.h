// One operation on one GPU: a program's plan for this device and the objects that its runs need.
//
//   OpBuffers (buffers.h)            memory, and which of it a run uses
//   DeviceMaps (device_map.h)        a map for each number of rows, with its tables
//   Run, Lanes (run.h)               streams beside the caller's
//   RunState, Watchdog               the state and the thread by which runs are watched
//     (state/run_state.h)
//   RunCheck (run_check.h)           a run's arguments
//   OpBase (op_base.h)               what the objects below have in common
//   Gemm (gemm.h)                    the kernel's arguments, and its launch
//   Communication (communication.h)  what follows the GEMM, or comes before it
//   Consumption (communication.h)    what is done with the result on this rank
//   RunTimeline                      the times of runs, where they are recorded
//     (state/run_timeline.h)
//   RunOrders (state/run_orders.h)   whose runs come before others'
//   RunIssuer (issuer.h)             all of a run, in the order in which it goes out
//   Routes (routes.h)                routes of the runs that follow
//   RegisteredOutputs                outputs of the caller's into which other ranks store
//     (registered/registered_outputs.h)
//   OpFamily (family.h)              operations that are one to the caller, each for a range of m
//   WarmUp (warm_up.h)               collectives that run once, before anything waits for them
#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime/core/object.h"
#include "runtime/cuda/op/family.h"
#include "runtime/cuda/op/issuer.h"
#include "runtime/cuda/op/routes.h"
#include "runtime/cuda/op/run_check.h"

namespace tilepost::cuda {

class CudaOp final : public tilepost_op {
 public:
  // For the family's plan number `range`. The constructor makes no resources.
  CudaOp(const tilepost_program_t& program, std::shared_ptr<OpFamily> family, size_t range,
         const tilepost_options_t& options, const DeviceInfo& device, const Communicator& comm);
  CudaOp(const CudaOp&) = delete;
  CudaOp& operator=(const CudaOp&) = delete;
  ~CudaOp() override;

  // Makes all resources that runs need. Called once, with the communicator's device current.
  // Collective.
  tilepost_result_t create(Communicator& comm);

  tilepost_result_t check(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t run(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) override;
  tilepost_result_t register_output(void* buffer, int64_t bytes) override;
  tilepost_result_t unregister_output(const void* buffer) override;
  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  tilepost_result_t get_info(tilepost_op_info_t& info) override;
  void add_memory(tilepost_memory_t& memory) override;
  tilepost_result_t find_overlap(int64_t m, bool& overlaps) override;
  const char* warnings() override { return warnings_.c_str(); }
  tilepost_result_t record_timeline() override;
  tilepost_result_t write_timeline(const char* path) override;

 private:
  RunBoard* board() const;
  tilepost_result_t create_state();
  void set_up_state();
  void name_streams() const;
  tilepost_result_t load_kernels();
  template <class Body>
  tilepost_result_t at_rest(const char* what, Body body);
  RowsOfRank rows_of_rank(int64_t rows) const;
  tilepost_result_t find_output(const tilepost_run_operands_t& operands, Run& run) const;
  tilepost_result_t create_registered();

  const tilepost_program_t& program_;
  const std::shared_ptr<OpFamily> family_;
  NvtxRange destroying_;  // ends when all members below are destroyed
  const tilepost_plan_t& plan_;
  const RunPaths paths_;
  const tilepost_options_t options_;
  const DeviceInfo device_;
  const std::shared_ptr<RunOrder> order_;  // the order of the communicator's runs
  std::string warnings_;
  Driver driver_;
  PeerPlaces places_;
  DeviceMaps maps_;
  Lanes lanes_;
  Transports transports_;
  RunState state_;
  OpBuffers buffers_;
  RunTimeline timeline_;
  const OpBase base_;
  RunOrders orders_;
  Watchdog watchdog_;
  RunCheck check_;
  Gemm gemm_;
  Consumption consumption_;
  Communication communication_;
  Routes routes_;
  RegisteredOutputs registered_;
  RunIssuer issuer_;
  bool made_rings_ = false;  // whether the family's rings were made for this operation
  bool captures_ = false;    // whether the caller has begun to capture runs
  bool made_ = false;        // whether create() has succeeded
};

// Adds what make_op allocates for these programs, one after the other, with the same arguments
// (tilepost_program_memory). Not collective.
tilepost_result_t add_needs_of_ops(Communicator& comm, std::span<const tilepost_program_t> programs,
                                   const tilepost_options_t& options, tilepost_memory_t& memory);

// Makes an operation on a communicator that has not been aborted, from the plans of the program
// that suit the communicator's device best. Collective.
tilepost_result_t make_op(Communicator& comm, const tilepost_program_t& program,
                          const tilepost_options_t& options, std::unique_ptr<tilepost_op>& op);

}  // namespace tilepost::cuda
