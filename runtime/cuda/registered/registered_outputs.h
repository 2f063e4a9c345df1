// Outputs of the caller's into which the other ranks store (tilepost_op_register).
//
// A registered buffer has what an operation's own memory for sums has: a place on every rank, and a
// table of the ranks' places. A run whose out is that buffer pushes there, and copies nothing. The
// memory remains the caller's, who must not free it before the ranks have unregistered it. So it
// needs no locks (shared/mapping_locks.h), but when unregistering returns no rank has it open any
// more.
//
// Registering and unregistering allocate and free neither device memory nor pinned memory. Where
// peer access is on, as between ranks of one process, allocating and freeing may wait for the
// kernels of all devices of the process. One of these kernels may wait for this rank to continue.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/core/registration.h"
#include "runtime/cuda/registered/caller_memory.h"
#include "runtime/cuda/shared/arena.h"

namespace tilepost::cuda {

// A registered buffer that is a run's out, and its places on all ranks.
struct RegisteredOutput {
  uint32_t number = 0;                  // RunTerms::output; 0: out is not registered
  void* const* there = nullptr;         // [ranks] where the buffer begins on each rank: device
                                        // memory
  const void* const* places = nullptr;  // a copy of `there` for the host, while the buffer is
                                        // registered
};

class RegisteredOutputs {
 public:
  // Both references outlive this object. `operation`: its number, the same on all ranks.
  RegisteredOutputs(const tilepost_plan_t& plan, const Driver& driver, int64_t operation);
  RegisteredOutputs(const RegisteredOutputs&) = delete;
  RegisteredOutputs& operator=(const RegisteredOutputs&) = delete;
  ~RegisteredOutputs();

  // Allocates all that registering needs. Called once if the plan has a use for registered outputs
  // (RunPath::lends_out), on the ranks' device, before all other calls but find(). The owner of the
  // channel outlives this object.
  tilepost_result_t create(const SharedRanks& ranks);

  // Register and unregister a buffer. Collective: they wait for the other ranks within the
  // deadline, and succeed on all ranks or fail on all. The ranks' device must be current, and no
  // run of this rank in flight.
  tilepost_result_t add(void* buffer, int64_t bytes);
  tilepost_result_t remove(const void* buffer);

  // Finds the registered buffer that a run's out of `bytes` bytes is, if any.
  // TILEPOST_INVALID_ARGUMENT: out lies in a buffer but does not begin where the buffer begins, out
  // is larger than the buffer, or the buffer's memory was freed.
  tilepost_result_t find(const void* out, int64_t bytes, RegisteredOutput& output) const;

  // Adds what create() allocates for the ranks of a plan, and what this object has allocated.
  static void add_needs(int ranks, tilepost_memory_t& memory);
  void add_memory(tilepost_memory_t& memory) const;

  // Closes the open memory of other processes. This rank's runs are over.
  void close();
  // Replaces close() when runs may still be in flight: leaves the other processes' memory open and
  // does not free the tables.
  void leak();

 private:
  // What ranks exchange about a buffer.
  struct Info;
  class Exchange;
  // This rank's buffer, and what this rank knows of the other ranks' buffers.
  struct Buffer {
    CallerMemory memory;
    std::vector<void*> opened;  // allocations of other processes
    std::vector<void*> places;  // where the buffer begins on each rank
    int table = 0;              // the index of the buffer's table in tables_
  };

  static std::vector<RegistrationTerms> terms_of(const std::vector<Info>& infos);
  tilepost_result_t describe(void* buffer, int64_t bytes, Info& info, Buffer& fresh) const;
  tilepost_result_t map(const std::vector<Info>& infos, Buffer& fresh) const;
  static tilepost_result_t reach(int peer, const Info& own, const Info& info, Buffer& fresh,
                                 void*& place);
  tilepost_result_t give_up(tilepost_result_t result, Buffer& fresh);
  int free_table() const;
  void** table(int which) const;
  static size_t table_bytes_of(int ranks) { return static_cast<size_t>(ranks) * sizeof(void*); }
  size_t table_bytes() const { return table_bytes_of(plan_.ranks); }
  static void close(Buffer& buffer);

  const tilepost_plan_t& plan_;
  const Driver& driver_;
  const int64_t operation_;
  std::vector<RegisteredRange> ranges_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // the buffers of ranges_, in the same order
  uint32_t count_ = 0;                            // how many registrations there were, the same on
                                                  // all ranks
  std::unique_ptr<Exchange> exchange_;            // null before create()
  DeviceMemory tables_;                           // [kMostRegistered][ranks] places
};

}  // namespace tilepost::cuda
