// Registered outputs (tilepost_op_register), the same for every target. These functions check which
// plans can use registered outputs, what a buffer must be, that all ranks register alike, and which
// registered buffer a run's out is.
#pragma once

#include <span>

#include "tilepost/tilepost.h"

namespace tilepost {

// A registered buffer of a rank. `number` counts the operation's registrations from 1 and is the
// same on all ranks.
struct RegisteredRange {
  uint32_t number;
  const char* begin;
  int64_t bytes;
};

// The kind of a rank's call. The other ranks must have made the same call.
enum class Registration : int64_t { adds = 1, removes = 2 };
struct RegistrationTerms {
  int64_t operation;  // RunTerms::operation
  int64_t call;       // Registration
  int64_t status;     // tilepost_result_t of this rank's check of its own buffer
  int64_t number;     // the number of the buffer; 0 if `status` is not TILEPOST_OK
  int64_t bytes;
};
// The most buffers that an operation has at a time. Memory for their addresses is allocated before
// the first buffer is registered.
constexpr size_t kMostRegistered = 256;
constexpr size_t kRegistrationNumbers = sizeof(RegistrationTerms) / sizeof(int64_t);

// Returns TILEPOST_UNSUPPORTED, with advice, if ranks store nothing into each other's outputs in
// runs of the plan. The result is the same on all ranks.
tilepost_result_t check_registers(const char* program, const tilepost_plan_t& plan);

// Checks that the buffer can be an output of the plan's runs, that it shares no byte with a
// registered buffer, and that fewer than kMostRegistered buffers are registered.
tilepost_result_t check_buffer(const tilepost_plan_t& plan, const void* buffer, int64_t bytes,
                               std::span<const RegisteredRange> registered);

// Sets `found` to the registered buffer that begins at `buffer`. If there is none, sets `found` to
// null and returns TILEPOST_INVALID_ARGUMENT.
tilepost_result_t find_registered(std::span<const RegisteredRange> registered, const void* buffer,
                                  const RegisteredRange*& found);

// Returns TILEPOST_OK if all ranks have made the same call with buffers of the same number and
// size, and no rank has refused its buffer. Otherwise all ranks fail with the same result. A rank
// that refused its buffer reports its own text, `own_text`. The other ranks name the first rank
// that refused or that differs.
tilepost_result_t agree_on_registration(int rank, std::span<const RegistrationTerms> all,
                                        const char* own_text);

// Sets `found` to the registered buffer that begins at a run's out of `bytes` bytes, or to null if
// out lies in no registered buffer. TILEPOST_INVALID_ARGUMENT: out begins inside a registered
// buffer, or is larger than one. Other ranks store from the beginning of their buffers on, and no
// further than was registered.
tilepost_result_t find_output(std::span<const RegisteredRange> registered, const void* out,
                              int64_t bytes, const RegisteredRange*& found);

}  // namespace tilepost
