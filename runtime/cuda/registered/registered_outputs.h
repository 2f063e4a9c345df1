// Outputs of the caller's into which the other ranks store (tilepost_op_register).
//
// A registered buffer has what an operation's own memory for sums has: a place on every rank, and a
// table of the ranks' places. A run whose out is that buffer pushes there, and moves nothing. The
// memory remains the caller's, who must not free it before the ranks have unregistered it. So there
// are no locks on it (shared/mapping_locks.h), but no rank has it open any more when unregistering
// returns.
//
// Registering and unregistering allocate and free neither device memory nor pinned memory. Where
// peer access is on, as between ranks of one process, allocating and freeing may wait for the
// kernels of all devices of the process, and one of these kernels may wait for this rank to go on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/core/registration.h"
#include "runtime/cuda/registered/caller_memory.h"
#include "runtime/cuda/shared/arena.h"

namespace tilepost::cuda {

// How a run whose out is a registered buffer reaches it on all ranks.
struct RegisteredOutput {
  uint32_t number = 0;                  // RunTerms::output; 0: out is not registered
  void* const* there = nullptr;         // [ranks] where it begins on each: device memory
  const void* const* places = nullptr;  // the same for the host, while it is registered
};

class RegisteredOutputs {
 public:
  // Both arguments outlive this object. `operation`: its number, the same on all ranks.
  RegisteredOutputs(const tilepost_plan_t& plan, const Driver& driver, int64_t operation);
  RegisteredOutputs(const RegisteredOutputs&) = delete;
  RegisteredOutputs& operator=(const RegisteredOutputs&) = delete;
  ~RegisteredOutputs();

  // Allocates all that registering needs, where the plan has a use for it (RunPath::lends_out).
  // Called once, on the ranks' device, before anything else but find(). The owner of the channel
  // outlives this.
  tilepost_result_t create(const SharedRanks& ranks);

  // Register and unregister a buffer. Collective: they wait for the other ranks within the
  // deadline, and succeed on all ranks or fail on all. The ranks' device is the current one. No run
  // of this rank is in flight.
  tilepost_result_t add(void* buffer, int64_t bytes);
  tilepost_result_t remove(const void* buffer);

  // Finds which registered buffer a run's out of `bytes` bytes is, if any.
  // TILEPOST_INVALID_ARGUMENT where out lies in a buffer but is not its begin, where it is larger,
  // or where its memory was freed.
  tilepost_result_t find(const void* out, int64_t bytes, RegisteredOutput& output) const;

  int64_t device_bytes() const { return device_bytes_; }

  // Closes the memory of other processes that is open. This rank's runs are over.
  void close();
  // Used instead of close() when runs may still be in flight: leaves the other processes' memory
  // open and does not free the tables.
  void leak();

 private:
  // What ranks tell each other of a buffer.
  struct Info;
  class Exchange;
  // This rank's buffer, with what it has of the other ranks' buffers.
  struct Buffer {
    CallerMemory memory;
    std::vector<void*> opened;  // allocations of other processes
    std::vector<void*> places;  // where the buffer begins on each rank
    int table = 0;              // which of tables_ is the buffer's
  };

  static std::vector<RegistrationTerms> terms_of(const std::vector<Info>& infos);
  tilepost_result_t describe(void* buffer, int64_t bytes, Info& info, Buffer& fresh) const;
  tilepost_result_t map(const std::vector<Info>& infos, Buffer& fresh) const;
  static tilepost_result_t reach(int peer, const Info& own, const Info& info, Buffer& fresh,
                                 void*& place);
  tilepost_result_t give_up(tilepost_result_t result, Buffer& fresh);
  int free_table() const;
  void** table(int which) const;
  size_t table_bytes() const { return static_cast<size_t>(plan_.ranks) * sizeof(void*); }
  static void close(Buffer& buffer);

  const tilepost_plan_t& plan_;
  const Driver& driver_;
  const int64_t operation_;
  std::vector<RegisteredRange> ranges_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // of ranges_, in their order
  uint32_t count_ = 0;                            // registrations so far, the same on all ranks
  std::unique_ptr<Exchange> exchange_;            // null before create()
  DeviceMemory tables_;                           // [kMostRegistered][ranks] places
  int64_t device_bytes_ = 0;
};

}  // namespace tilepost::cuda
