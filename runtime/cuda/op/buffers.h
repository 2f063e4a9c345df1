// The memory that an operation's runs store, receive and gather in, where it is neither the
// caller's, nor shared by ranks, nor a window; and which memory of all of these a run uses.
#pragma once

#include "runtime/cuda/device/resources.h"
#include "runtime/cuda/transport/transport.h"
#include "runtime/schedule/run_map.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {

class OpBuffers {
 public:
  // `transports` have the memory that ranks share, and the windows; both outlive this.
  OpBuffers(const tilepost_plan_t& plan, const Transports& transports)
      : plan_(plan), paths_(paths_of(plan)), transports_(transports) {}

  // Allocates for the largest run: no later one allocates. `planned`: of the plan's own m; null of
  // a routed plan. Zeroed, on `stream`, because parts of edge tiles and of padded shares are sent
  // that kernels need not fill.
  tilepost_result_t create(const RunMap* planned, int lanes, cudaStream_t stream);

  // What a run with these operands reads and writes, on lane 0.
  Buffers of(const tilepost_run_operands_t& operands, const RunPath& path) const;
  // What a reduce_scatter of another lane receives beyond what may be written to out.
  void* scratch_of(int lane) const;

  // Where runs in sequence store whose kernel stores by owner, or null.
  void* send() const { return send_.get(); }

  // Room, zeroed on `stream`, for this many elements that steps receive; what a new route brings
  // can be more than before. Runs so far have ended.
  tilepost_result_t grow_received(int64_t elements, cudaStream_t stream, bool& grown);

  // Where rows of A are sorted by destination (RunPath::packs), or null.
  void* packed() const { return packed_.get(); }

  // What the buffers have room for, in elements; scratch: of a lane.
  const RunSizes& sizes() const { return sizes_; }
  // Whether steps send and receive in this memory alone, whatever the caller brings.
  bool holds_all() const { return send_ && received_; }
  int64_t device_bytes() const { return device_bytes_; }

  // Memory that may be given as a run's out (RunPath::lends_out); null where none may.
  void* lent_out() const;

  // Whether a run uses the memory that ranks share. Others then wait for its end: the same on all
  // ranks.
  bool uses_shared(const RunPath& path) const;

  // After a failure that the device has not come back from: leaves it to the process.
  void leak();

 private:
  int64_t output_bytes() const { return element_bytes(plan_.output); }  // of an element
  tilepost_result_t add(DeviceMemory& memory, int64_t bytes, cudaStream_t stream);
  void* received_of(const tilepost_run_operands_t& operands, const RunPath& path) const;
  void* kernel_output(const tilepost_run_operands_t& operands, const RunPath& path) const;
  void* gathered_of(const tilepost_run_operands_t& operands, const RunPath& path) const;
  void* shared_at(int64_t SharedLayout::*region) const;

  const tilepost_plan_t& plan_;
  const RunPaths paths_;
  const Transports& transports_;
  int64_t device_bytes_ = 0;
  RunSizes sizes_;
  DeviceMemory send_;      // where the kernel stores: Buffer::send in Memory::own
  DeviceMemory received_;  // what steps receive: Buffer::received in Memory::own
  DeviceMemory gathered_;  // all rows of A, for runs that bring no memory for them: Memory::own
  DeviceMemory packed_;    // rows of A by destination: RunPath::packs
  DeviceMemory scratch_;   // by lane
};

}  // namespace tilepost::cuda
