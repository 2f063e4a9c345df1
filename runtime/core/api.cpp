// The C entry points that use what has been made (creation.cpp), and are the same for every target.
// They check arguments, dispatch to the target and let no exception out.
#include <cstddef>
#include <initializer_list>

#include "runtime/core/error.h"
#include "runtime/core/guarded.h"
#include "runtime/core/structures.h"
#include "tilepost/timeline.h"

namespace {

using tilepost::check_handle;
using tilepost::check_process;
using tilepost::check_size;
using tilepost::fail;
using tilepost::guarded;
using tilepost::null_argument;
using tilepost::wrong_size;

// The sizes that the structure had in earlier versions, and the size that it has now.
constexpr std::initializer_list<size_t> kOperandsSizes = {
    offsetof(tilepost_run_operands_t, m),
    offsetof(tilepost_run_operands_t, user),
    offsetof(tilepost_run_operands_t, expert_ends),
    offsetof(tilepost_run_operands_t, gathered_scales),
    offsetof(tilepost_run_operands_t, out_scales),
    offsetof(tilepost_run_operands_t, layer),
    sizeof(tilepost_run_operands_t)};

// Runs `body` for an operation of the caller's that this process may use.
template <class Body>
tilepost_result_t call_on(const char* call, tilepost_op_t op, Body body) {
  return tilepost::call_on(call, "op", op, body);
}

tilepost_result_t run(const char* call, tilepost_op_t op, const tilepost_run_operands_t& operands,
                      CUstream_st* stream) {
  return call_on(call, op, [&] { return op->run(operands, stream); });
}

}  // namespace

extern "C" {

tilepost_result_t tilepost_comm_destroy(tilepost_comm_t comm) {
  const char* call = __func__;
  if (comm != nullptr) TILEPOST_TRY(check_process(call, *comm));
  return guarded(call, [&] {
    if (const int ops = comm == nullptr ? 0 : comm->live_ops->load(); ops > 0)
      return fail(
          TILEPOST_INVALID_ARGUMENT,
          "%s: operations and routings of this communicator that have not been destroyed: %d; "
          "destroy them first",
          call, ops);
    delete comm;
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
  TILEPOST_TRY(check_handle(__func__, "op", op));
  if (route == nullptr) return null_argument(__func__, "route");
  TILEPOST_TRY(check_size(__func__, "route", *route, "tilepost_route_t"));
  if (arrivals != nullptr)
    TILEPOST_TRY(check_size(__func__, "arrivals", *arrivals, "tilepost_arrivals_t"));
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
  TILEPOST_TRY(check_handle(__func__, "op", op));
  if (info == nullptr) return null_argument(__func__, "info");
  return guarded(__func__, [&] { return op->get_info(*info); });
}

tilepost_result_t tilepost_op_memory(tilepost_op_t op, tilepost_memory_t* memory) {
  if (op == nullptr) return null_argument(__func__, "op");
  if (memory == nullptr) return null_argument(__func__, "memory");
  TILEPOST_TRY(check_size(__func__, "memory", *memory, "tilepost_memory_t"));
  return call_on(__func__, op, [&] {
    tilepost_memory_t taken{sizeof taken, 0, 0, 0};
    op->add_memory(taken);
    *memory = taken;
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_op_overlaps(tilepost_op_t op, int64_t m, int* overlaps) {
  if (op == nullptr) return null_argument(__func__, "op");
  if (overlaps == nullptr) return null_argument(__func__, "overlaps");
  return call_on(__func__, op, [&] {
    bool found = false;
    TILEPOST_TRY(op->find_overlap(m, found));
    *overlaps = found ? 1 : 0;
    return TILEPOST_OK;
  });
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
  return tilepost::destroy(__func__, op);
}

}  // extern "C"
