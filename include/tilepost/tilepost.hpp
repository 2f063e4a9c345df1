// The runtime's C++ interface: classes that own the C handles of tilepost.h, and nothing more.
//
// No call throws. Each returns a Status, which must be looked at. A Status carries the error's
// text, so that it can be passed on between threads. Comm and Op are move-only, and their
// destructors release what they own. Destroy an Op before its Comm.
#ifndef TILEPOST_TILEPOST_HPP
#define TILEPOST_TILEPOST_HPP

#include <string>
#include <utility>

#include "tilepost/tilepost.h"

namespace tilepost {

// A result and, unless that is TILEPOST_OK or TILEPOST_IN_PROGRESS, what went wrong.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // Takes the text from this thread's last error.
  explicit Status(tilepost_result_t result) : result_(result) {
    if (!ok() && !in_progress()) text_ = tilepost_last_error();
  }

  bool ok() const { return result_ == TILEPOST_OK; }
  bool in_progress() const { return result_ == TILEPOST_IN_PROGRESS; }
  explicit operator bool() const { return ok(); }
  tilepost_result_t result() const { return result_; }
  const char* name() const { return tilepost_result_name(result_); }
  const std::string& text() const { return text_; }

 private:
  tilepost_result_t result_ = TILEPOST_OK;
  std::string text_;
};

// One rank of a communicator. It is empty until init() or adopt() has filled it.
class Comm {
 public:
  Comm() = default;
  Comm(Comm&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Comm& operator=(Comm&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Comm() { tilepost_comm_destroy(handle_); }

  // tilepost_comm_init: collective, on the current device.
  static Status init(const tilepost_unique_id_t& id, int rank, int world, Comm& comm) {
    Comm made;
    const Status status(tilepost_comm_init(&id, rank, world, &made.handle_));
    if (status) comm = std::move(made);
    return status;
  }

  // tilepost_comm_init_with: collective, on the current device.
  static Status init_with(tilepost_all_gather_t all_gather, void* user, int rank, int world,
                          Comm& comm) {
    Comm made;
    const Status status(tilepost_comm_init_with(all_gather, user, rank, world, &made.handle_));
    if (status) comm = std::move(made);
    return status;
  }

  // tilepost_comms_create: comms[rank] on devices[rank], for one thread with several GPUs.
  static Status create(const int* devices, int count, Comm* comms) {
    tilepost_comm_t made[64] = {};
    const Status status(tilepost_comms_create(devices, count, made));
    for (int rank = 0; status && rank < count; ++rank) std::swap(comms[rank].handle_, made[rank]);
    for (tilepost_comm_t before : made) tilepost_comm_destroy(before);
    return status;
  }

  // tilepost_comm_adopt: collective, on the current device; the caller keeps `nccl`.
  static Status adopt(ncclComm* nccl, Comm& comm) {
    Comm made;
    const Status status(tilepost_comm_adopt(nccl, &made.handle_));
    if (status) comm = std::move(made);
    return status;
  }

  tilepost_comm_t get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  tilepost_comm_t handle_ = nullptr;
};

// One operation. It is empty until create() has filled it. Calls of an empty one return
// TILEPOST_INVALID_ARGUMENT.
class Op {
 public:
  Op() = default;
  Op(Op&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Op& operator=(Op&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  // Waits for the operation's runs, within the deadline.
  ~Op() { tilepost_op_destroy(handle_); }

  // tilepost_op_create: collective. `program` is what the generated <name>_program() returns.
  static Status create(const Comm& comm, const tilepost_program_t* program, Op& op,
                       const tilepost_options_t& options = tilepost_default_options()) {
    Op made;
    const Status status(tilepost_op_create(comm.get(), program, &options, &made.handle_));
    if (status) op = std::move(made);
    return status;
  }

  // tilepost_program_memory: what create() with these arguments would take. struct_size is filled
  // in.
  static Status memory_of(const Comm& comm, const tilepost_program_t* program,
                          tilepost_memory_t& memory,
                          const tilepost_options_t& options = tilepost_default_options()) {
    memory.struct_size = sizeof memory;
    return Status(tilepost_program_memory(comm.get(), program, &options, &memory));
  }

  // tilepost_op_run: starts a run as tilepost.h says for the plan's pattern, asynchronous in
  // `stream`.
  Status run(const void* a, const void* b, void* out, CUstream_st* stream) {
    return Status(tilepost_op_run(handle_, a, b, out, stream));
  }
  // tilepost_op_run_with: the same with more operands. struct_size is filled in.
  Status run(tilepost_run_operands_t operands, CUstream_st* stream) {
    operands.struct_size = sizeof operands;
    return Status(tilepost_op_run_with(handle_, &operands, stream));
  }
  // tilepost_op_route: sets where the rows of the following runs go; collective. struct_size is
  // filled in.
  Status route(tilepost_route_t route, tilepost_arrivals_t* arrivals = nullptr) {
    route.struct_size = sizeof route;
    if (arrivals != nullptr) arrivals->struct_size = sizeof *arrivals;
    return Status(tilepost_op_route(handle_, &route, arrivals));
  }
  // tilepost_op_register, tilepost_op_unregister: for outputs of the caller's into which the other
  // ranks store; collective.
  Status register_output(void* buffer, int64_t bytes) {
    return Status(tilepost_op_register(handle_, buffer, bytes));
  }
  Status unregister_output(const void* buffer) {
    return Status(tilepost_op_unregister(handle_, buffer));
  }
  Status status() { return Status(tilepost_op_status(handle_)); }
  Status synchronize() { return Status(tilepost_op_synchronize(handle_)); }
  Status get_info(tilepost_op_info_t& info) { return Status(tilepost_op_get_info(handle_, &info)); }
  // tilepost_op_memory: what the operation has taken. struct_size is filled in.
  Status memory(tilepost_memory_t& memory) {
    memory.struct_size = sizeof memory;
    return Status(tilepost_op_memory(handle_, &memory));
  }
  // tilepost_op_overlaps: whether runs of m rows overlap.
  Status overlaps(int64_t m, bool& overlaps) {
    int found = 0;
    const Status status(tilepost_op_overlaps(handle_, m, &found));
    overlaps = found != 0;
    return status;
  }
  const char* warnings() const { return tilepost_op_warnings(handle_); }

  tilepost_op_t get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  tilepost_op_t handle_ = nullptr;
};

}  // namespace tilepost

#endif  // TILEPOST_TILEPOST_HPP
