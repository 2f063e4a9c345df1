// Allocates the memory in which an operation's runs store, receive and gather, unless that memory
// is the caller's, is shared by ranks, or is an NCCL window. This class also knows which memory of
// all these kinds a run uses.
#pragma once

#include "runtime/cuda/consumers/home_sums.h"
#include "runtime/cuda/device/resources.h"
#include "runtime/cuda/transport/transport.h"
#include "runtime/schedule/run_map.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {

class OpBuffers {
 public:
  // `paths` are the plan's. `transports` own the memory that ranks share, and the windows. All
  // arguments outlive this object.
  OpBuffers(const tilepost_plan_t& plan, const RunPaths& paths, const Transports& transports)
      : plan_(plan), paths_(paths), transports_(transports) {}

  // Allocates for the largest run, so that no later run allocates. `planned` is the map of the
  // plan's own m, or null for a routed plan. The memory is zeroed on `stream`, because parts of
  // edge tiles and of padded shares are sent although kernels need not fill them.
  tilepost_result_t create(const RunMap* planned, int lanes, cudaStream_t stream);

  // The memory that a run with `operands` reads and writes, on lane 0.
  Buffers of(const tilepost_run_operands_t& operands, const RunPath& path) const;
  // The lane's scratch memory. A reduce_scatter receives a padded block there, because only the
  // block's valid rows may be written to out.
  void* scratch_of(int lane) const;

  // The operation's own send buffer, or null where it has none. In a run in sequence (without
  // overlap) a kernel that looks up its places by owner stores here.
  void* send() const { return send_.get(); }

  // Makes room for `elements` elements that steps receive, zeroed on `stream`. A new route can
  // bring more rows than the routes before. Sets `grown` to whether the memory was replaced. The
  // caller has waited until all runs so far have ended.
  tilepost_result_t grow_received(int64_t elements, cudaStream_t stream, bool& grown);

  // Memory for the rows of A sorted by destination rank (RunPath::sorts_a), or null, and for the
  // scales that move with them.
  void* packed() const { return packed_.get(); }
  float* packed_scales() const;

  // Memory for the list of tile rows of a run, zeroed when it was made, or null.
  void* token_list() const { return token_list_.get(); }

  // RunPath::combines: rows of experts.
  void* products() const { return products_.get(); }
  // RunPath::sums_at_home: the words of the kernel that sums tokens, zeroed when they were made, or
  // null.
  HomeSumWords* sum_words() const { return static_cast<HomeSumWords*>(sum_words_.get()); }

  // How many elements the buffers have room for. `scratch` is the room of one lane.
  const RunSizes& sizes() const { return sizes_; }
  // Whether steps send and receive only in this object's memory, whatever the caller passes.
  bool holds_all() const { return send_ && received_; }
  // Adds what create() with such arguments allocates for a plan, and what this object has
  // allocated. Neither counts the memory that transports own.
  static void add_needs(const tilepost_plan_t& plan, const RunMap* planned, int lanes,
                        tilepost_memory_t& memory);
  void add_memory(tilepost_memory_t& memory) const;

  // Memory that the caller may pass as a run's out (RunPath::lends_out), or null.
  void* lent_out() const;

  // Whether a run uses the memory that ranks share. If so, the other ranks wait for the end of the
  // run. The answer is the same on all ranks.
  bool uses_shared(const RunPath& path) const;

  // Gives up the memory without freeing it, for after a failure from which the device has not
  // recovered.
  void leak();

 private:
  int64_t output_bytes() const { return element_bytes(plan_.output); }  // bytes of one element
  static tilepost_result_t make(DeviceMemory& memory, int64_t bytes, cudaStream_t stream);
  void* received_of(const tilepost_run_operands_t& operands, const RunPath& path) const;
  void* kernel_output(const tilepost_run_operands_t& operands, const RunPath& path) const;
  void* gathered_of(const tilepost_run_operands_t& operands, const RunPath& path) const;
  void* place_of_gathered(const RunPath& path) const;
  float* scales_behind(void* place, int64_t rows) const;
  void find_scales(const tilepost_run_operands_t& operands, const RunPath& path,
                   Buffers& buffers) const;
  void* shared_at(int64_t SharedLayout::*region) const;

  const tilepost_plan_t& plan_;
  const RunPaths& paths_;
  const Transports& transports_;
  RunSizes sizes_;
  DeviceMemory send_;      // where the kernel stores: Buffer::send in Memory::own
  DeviceMemory received_;  // where steps receive: Buffer::received in Memory::own
  // Rows of A, and behind them the scales that move with them (place_of_rows):
  DeviceMemory gathered_;  // all rows, for runs whose caller passes no memory for them: Memory::own
  DeviceMemory packed_;    // rows by destination: RunPath::sorts_a
  DeviceMemory scratch_;   // a part for each lane
  DeviceMemory token_list_;  // RunPath::lists_tiles
  DeviceMemory products_;    // RunPath::combines
  DeviceMemory sum_words_;   // RunPath::sums_at_home
};

}  // namespace tilepost::cuda
