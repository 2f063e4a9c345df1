// The C entry points that are the same for every target. They check arguments, dispatch to the
// target and let no exception out.
#include <cinttypes>
#include <cstddef>
#include <initializer_list>

#include "runtime/core/error.h"
#include "runtime/core/guarded.h"
#include "runtime/core/object.h"
#include "runtime/core/structures.h"
#include "runtime/schedule/schedule_cache.h"
#include "tilepost/timeline.h"

namespace {

using tilepost::fail;
using tilepost::guarded;
using tilepost::null_argument;

constexpr double kDefaultDeadlineSeconds = 60;
constexpr double kMaxDeadlineSeconds = 86400;
constexpr int64_t kMostScheduleBytes = int64_t{1} << 40;

// The sizes that structures had in earlier versions, and the sizes that they have now. The first
// tilepost_options_t had four unused bytes in place of share_memory, so its size is that of the
// second.
constexpr std::initializer_list<size_t> kOptionsSizes = {
    offsetof(tilepost_options_t, schedule_bytes), sizeof(tilepost_options_t)};
constexpr std::initializer_list<size_t> kOperandsSizes = {offsetof(tilepost_run_operands_t, m),
                                                          offsetof(tilepost_run_operands_t, user),
                                                          sizeof(tilepost_run_operands_t)};

// A child of fork() has copies of the handles, but not the threads and device state that they use.
tilepost_result_t check_process(const char* call, const tilepost_owned& handle) {
  if (handle.process == getpid()) return TILEPOST_OK;
  return fail(
      TILEPOST_INVALID_ARGUMENT,
      "%s: the handle is of process %lld, and this is process %lld, forked since; make what "
      "is used here in this process, before anything of CUDA is called in its parent",
      call, static_cast<long long>(handle.process), static_cast<long long>(getpid()));
}

// Runs `body` for an operation of the caller's that this process may use.
template <class Body>
tilepost_result_t call_on(const char* call, tilepost_op_t op, Body body) {
  if (op == nullptr) return null_argument(call, "op");
  TILEPOST_TRY(check_process(call, *op));
  return guarded(call, body);
}

tilepost_result_t wrong_size(const char* call, const char* name, size_t size, size_t expected,
                             const char* type) {
  return fail(TILEPOST_INVALID_ARGUMENT,
              "%s: %s.struct_size is %zu, expected %zu; set it to sizeof(%s)", call, name, size,
              expected, type);
}

// Sets `chosen` to the caller's options, or to the defaults where the caller gives none.
tilepost_result_t complete_options(const char* call, const tilepost_options_t* options,
                                   tilepost_options_t& chosen) {
  chosen = tilepost_default_options();
  if (options == nullptr) return TILEPOST_OK;
  const size_t size = options->struct_size;
  if (!tilepost::is_known_size(size, kOptionsSizes))
    return fail(
        TILEPOST_INVALID_ARGUMENT,
        "%s: options.struct_size is %zu, expected %zu; start from tilepost_default_options()", call,
        size, sizeof(tilepost_options_t));
  chosen = tilepost::completed(options, size, chosen);
  return TILEPOST_OK;
}

tilepost_result_t check_options(const char* call, const tilepost_options_t& options) {
  if (!(options.deadline_seconds >= 0 && options.deadline_seconds <= kMaxDeadlineSeconds))
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: options.deadline_seconds must be from 0 to %g, got %g", call,
                kMaxDeadlineSeconds, options.deadline_seconds);
  if (options.host_workers < 0 || options.host_workers > 256)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: options.host_workers must be from 0 to 256, got %d",
                call, options.host_workers);
  if (options.share_memory != 0 && options.share_memory != 1)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: options.share_memory must be 0 or 1, got %d", call,
                options.share_memory);
  if (options.schedule_bytes < 0 || options.schedule_bytes > kMostScheduleBytes)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: options.schedule_bytes must be from 0 to %" PRId64 ", got %" PRId64, call,
                kMostScheduleBytes, options.schedule_bytes);
  return TILEPOST_OK;
}

tilepost_result_t run(const char* call, tilepost_op_t op, const tilepost_run_operands_t& operands,
                      CUstream_st* stream) {
  return call_on(call, op, [&] { return op->run(operands, stream); });
}

}  // namespace

extern "C" {

tilepost_options_t tilepost_default_options(void) {
  return {sizeof(tilepost_options_t), kDefaultDeadlineSeconds, 0, 0, 0};
}

tilepost_result_t tilepost_comm_destroy(tilepost_comm_t comm) {
  const char* call = __func__;
  if (comm != nullptr) TILEPOST_TRY(check_process(call, *comm));
  return guarded(call, [&] {
    if (const int ops = comm == nullptr ? 0 : comm->live_ops->load(); ops > 0)
      return fail(
          TILEPOST_INVALID_ARGUMENT,
          "%s: operations of this communicator that have not been destroyed: %d; destroy them "
          "first",
          call, ops);
    delete comm;
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_op_create(tilepost_comm_t comm, const tilepost_program_t* program,
                                     const tilepost_options_t* options, tilepost_op_t* op) {
  const char* call = __func__;
  if (op == nullptr) return null_argument(call, "op");
  *op = nullptr;
  if (comm == nullptr) return null_argument(call, "comm");
  TILEPOST_TRY(check_process(call, *comm));
  if (program == nullptr) return null_argument(call, "program");
  if (program->abi_version != TILEPOST_ABI_VERSION)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: program '%s' was generated for ABI %u, this runtime has ABI %u; regenerate it",
                call, program->name, program->abi_version, TILEPOST_ABI_VERSION);
  tilepost_options_t chosen{};
  TILEPOST_TRY(complete_options(call, options, chosen));
  TILEPOST_TRY(check_options(call, chosen));
  if (chosen.schedule_bytes == 0) chosen.schedule_bytes = tilepost::kScheduleBytes;
  return guarded(call, [&] {
    std::unique_ptr<tilepost_op> made;
    TILEPOST_TRY(comm->create_op(*program, chosen, made));
    made->live_ops = comm->live_ops;
    ++*made->live_ops;
    *op = made.release();
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_op_run(tilepost_op_t op, const void* a, const void* b, void* out,
                                  CUstream_st* stream) {
  tilepost_run_operands_t operands = {};
  operands.struct_size = sizeof operands;
  operands.a = a;
  operands.b = b;
  operands.out = out;
  operands.m = TILEPOST_PLANNED_M;
  return run(__func__, op, operands, stream);
}

tilepost_result_t tilepost_op_run_with(tilepost_op_t op, const tilepost_run_operands_t* operands,
                                       CUstream_st* stream) {
  if (operands == nullptr) return null_argument(__func__, "operands");
  const size_t size = operands->struct_size;
  if (!tilepost::is_known_size(size, kOperandsSizes))
    return wrong_size(__func__, "operands", size, sizeof *operands, "tilepost_run_operands_t");
  tilepost_run_operands_t defaults = {};
  defaults.m = TILEPOST_PLANNED_M;
  return run(__func__, op, tilepost::completed(operands, size, defaults), stream);
}

tilepost_result_t tilepost_op_route(tilepost_op_t op, const tilepost_route_t* route,
                                    tilepost_arrivals_t* arrivals) {
  if (op == nullptr) return null_argument(__func__, "op");
  TILEPOST_TRY(check_process(__func__, *op));
  if (route == nullptr) return null_argument(__func__, "route");
  if (route->struct_size != sizeof *route)
    return wrong_size(__func__, "route", route->struct_size, sizeof *route, "tilepost_route_t");
  if (arrivals != nullptr && arrivals->struct_size != sizeof *arrivals)
    return wrong_size(__func__, "arrivals", arrivals->struct_size, sizeof *arrivals,
                      "tilepost_arrivals_t");
  return guarded(__func__, [&] { return op->route(*route, arrivals); });
}

tilepost_result_t tilepost_op_register(tilepost_op_t op, void* buffer, int64_t bytes) {
  return call_on(__func__, op, [&] { return op->register_output(buffer, bytes); });
}

tilepost_result_t tilepost_op_unregister(tilepost_op_t op, const void* buffer) {
  return call_on(__func__, op, [&] { return op->unregister_output(buffer); });
}

tilepost_result_t tilepost_op_status(tilepost_op_t op) {
  return call_on(__func__, op, [&] { return op->status(); });
}

tilepost_result_t tilepost_op_synchronize(tilepost_op_t op) {
  return call_on(__func__, op, [&] { return op->synchronize(); });
}

tilepost_result_t tilepost_op_get_info(tilepost_op_t op, tilepost_op_info_t* info) {
  if (op == nullptr) return null_argument(__func__, "op");
  TILEPOST_TRY(check_process(__func__, *op));
  if (info == nullptr) return null_argument(__func__, "info");
  return guarded(__func__, [&] { return op->get_info(*info); });
}

tilepost_result_t tilepost_op_record_timeline(tilepost_op_t op) {
  return call_on(__func__, op, [&] { return op->record_timeline(); });
}

tilepost_result_t tilepost_op_write_timeline(tilepost_op_t op, const char* path) {
  if (path == nullptr) return null_argument(__func__, "path");
  return call_on(__func__, op, [&] { return op->write_timeline(path); });
}

const char* tilepost_op_warnings(tilepost_op_t op) {
  return op == nullptr ? "" : op->warnings();
}

tilepost_result_t tilepost_op_destroy(tilepost_op_t op) {
  if (op != nullptr) TILEPOST_TRY(check_process(__func__, *op));
  return guarded(__func__, [&] {
    delete op;
    return TILEPOST_OK;
  });
}

}  // extern "C"
