// The C entry points of tilepost/timeline.h.
#include "tilepost/timeline.h"

#include <new>

#include "runtime/core/error.h"
#include "runtime/core/object.h"

namespace {

using tilepost::fail;

tilepost_result_t no_timeline() {
  return fail(
      TILEPOST_UNSUPPORTED,
      "an operation of the host target has no timeline: its threads have no device's clock; "
      "generate it for a GPU");
}

// Calls body() for an operation that this process may use. Lets no exception out.
template <class Body>
tilepost_result_t call_on(const char* call, tilepost_op_t op, Body body) {
  if (op == nullptr) return fail(TILEPOST_INVALID_ARGUMENT, "%s: op is null", call);
  if (op->process != getpid())
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: the operation is of process %lld, which forked this one", call,
                static_cast<long long>(op->process));
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(TILEPOST_OUT_OF_MEMORY, "%s: out of host memory", call);
  }
}

}  // namespace

tilepost_result_t tilepost_op::record_timeline() {
  return no_timeline();
}

tilepost_result_t tilepost_op::write_timeline(const char* /*path*/) {
  return no_timeline();
}

extern "C" {

tilepost_result_t tilepost_op_record_timeline(tilepost_op_t op) {
  return call_on(__func__, op, [&] { return op->record_timeline(); });
}

tilepost_result_t tilepost_op_write_timeline(tilepost_op_t op, const char* path) {
  if (path == nullptr) return fail(TILEPOST_INVALID_ARGUMENT, "%s: path is null", __func__);
  return call_on(__func__, op, [&] { return op->write_timeline(path); });
}

}  // extern "C"
