// Registered outputs (tilepost_op_register) as every target sees them: which plans have a use for
// them, what a buffer must be, what the ranks say when they register one, and which one a run's out
// is.
#pragma once

#include <span>

#include "tilepost/tilepost.h"

namespace tilepost {

// A rank's buffer. `number` counts the operation's registrations from 1, the same on all ranks.
struct RegisteredRange {
  uint32_t number;
  const char* begin;
  int64_t bytes;
};

// A call of a rank, as the others must have made it too.
enum class Registration : int64_t { adds = 1, removes = 2 };
struct RegistrationTerms {
  int64_t operation;  // RunTerms::operation
  int64_t call;       // Registration
  int64_t status;     // tilepost_result_t: what this rank says of its own buffer
  int64_t number;     // of the buffer; 0 where `status` is not TILEPOST_OK
  int64_t bytes;
};
// Buffers of an operation at a time: what they take is there before the first.
constexpr size_t kMostRegistered = 256;
constexpr size_t kRegistrationNumbers = sizeof(RegistrationTerms) / sizeof(int64_t);

// TILEPOST_UNSUPPORTED, and what to do, where runs of the plan store nothing in other ranks'
// outputs. The same on all ranks.
tilepost_result_t check_registers(const char* program, const tilepost_plan_t& plan);

// That the buffer can be an output of the plan's runs, and shares no byte with those registered, of
// which there are fewer than kMostRegistered.
tilepost_result_t check_buffer(const tilepost_plan_t& plan, const void* buffer, int64_t bytes,
                               std::span<const RegisteredRange> registered);

// The one that begins at `buffer`; TILEPOST_INVALID_ARGUMENT, and a null one, where there is none.
tilepost_result_t find_registered(std::span<const RegisteredRange> registered, const void* buffer,
                                  const RegisteredRange*& found);

// TILEPOST_OK where all ranks have said the same. Otherwise all fail with the same result: a rank
// that refused has its own text, `own_text`, and the others name the first that did, or that says
// something else.
tilepost_result_t agree_on_registration(int rank, std::span<const RegistrationTerms> all,
                                        const char* own_text);

// Which one a run's out of `bytes` bytes is; null: none. TILEPOST_INVALID_ARGUMENT where it lies
// inside of one, or is larger: other ranks store at the begin of theirs, and no further than was
// registered.
tilepost_result_t find_output(std::span<const RegisteredRange> registered, const void* out,
                              int64_t bytes, const RegisteredRange*& found);

}  // namespace tilepost
