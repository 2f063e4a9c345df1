// What every entry point of the C interface does: it checks arguments and handles, and lets no
// exception out.
#pragma once

#include <exception>
#include <memory>
#include <new>

#include "runtime/core/error.h"
#include "runtime/core/object.h"

namespace tilepost {

// Runs `body`, for the entry point `call`, and turns what it throws into a result.
template <class Body>
tilepost_result_t guarded(const char* call, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(TILEPOST_OUT_OF_MEMORY, "%s: out of host memory", call);
  } catch (const std::exception& error) {
    return fail(TILEPOST_INTERNAL_ERROR, "%s: %s", call, error.what());
  }
}

// Refuses the null argument `name` of the entry point `call`.
inline tilepost_result_t null_argument(const char* call, const char* name) {
  return fail(TILEPOST_INVALID_ARGUMENT, "%s: %s is null", call, name);
}

// A child of fork() has copies of the handles, but not the threads and device state that they use.
inline tilepost_result_t check_process(const char* call, const tilepost_owned& handle) {
  if (handle.process == getpid()) return TILEPOST_OK;
  return fail(
      TILEPOST_INVALID_ARGUMENT,
      "%s: the handle is of process %lld, and this is process %lld, forked since; make what "
      "is used here in this process, before anything of CUDA is called in its parent",
      call, static_cast<long long>(handle.process), static_cast<long long>(getpid()));
}

// Refuses a handle, the argument `name`, that is null or another process's.
inline tilepost_result_t check_handle(const char* call, const char* name,
                                      const tilepost_owned* handle) {
  return handle == nullptr ? null_argument(call, name) : check_process(call, *handle);
}

// Runs `body` for a handle of the caller's, the argument `name`, that this process may use.
template <class Body>
tilepost_result_t call_on(const char* call, const char* name, const tilepost_owned* handle,
                          Body body) {
  TILEPOST_TRY(check_handle(call, name, handle));
  return guarded(call, body);
}

// Hands what was made of a communicator to the caller.
template <class Object>
Object* hand_out(const tilepost_comm& comm, std::unique_ptr<Object> made) {
  made->live_ops = comm.live_ops;
  ++*made->live_ops;
  return made.release();
}

// Destroys what a handle is of, for the entry point `call`. Null is destroyed already.
template <class Object>
tilepost_result_t destroy(const char* call, Object* handle) {
  if (handle != nullptr) TILEPOST_TRY(check_process(call, *handle));
  return guarded(call, [&] {
    delete handle;
    return TILEPOST_OK;
  });
}

constexpr double kDefaultDeadlineSeconds = 60;
constexpr double kMaxDeadlineSeconds = 86400;

// Checks the member deadline_seconds of a structure of options.
inline tilepost_result_t check_deadline(const char* call, double seconds) {
  if (seconds >= 0 && seconds <= kMaxDeadlineSeconds) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "%s: options.deadline_seconds must be from 0 to %g, got %g", call,
              kMaxDeadlineSeconds, seconds);
}

}  // namespace tilepost
