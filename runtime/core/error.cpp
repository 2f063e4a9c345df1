#include "runtime/core/error.h"

#include <cstdarg>
#include <cstdio>

namespace tilepost {
namespace {

constexpr int kTextBytes = 8192;  // a spec may be wrong in many places
thread_local char last_error[kTextBytes] = "";

}  // namespace

tilepost_result_t fail(tilepost_result_t result, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(last_error, kTextBytes, format, arguments);
  va_end(arguments);
  return result;
}

}  // namespace tilepost

const char* tilepost_last_error(void) {
  return tilepost::last_error;
}

const char* tilepost_result_name(tilepost_result_t result) {
  switch (result) {
    case TILEPOST_OK:
      return "TILEPOST_OK";
    case TILEPOST_IN_PROGRESS:
      return "TILEPOST_IN_PROGRESS";
    case TILEPOST_INVALID_ARGUMENT:
      return "TILEPOST_INVALID_ARGUMENT";
    case TILEPOST_UNSUPPORTED:
      return "TILEPOST_UNSUPPORTED";
    case TILEPOST_OUT_OF_MEMORY:
      return "TILEPOST_OUT_OF_MEMORY";
    case TILEPOST_CUDA_ERROR:
      return "TILEPOST_CUDA_ERROR";
    case TILEPOST_NCCL_ERROR:
      return "TILEPOST_NCCL_ERROR";
    case TILEPOST_TIMEOUT:
      return "TILEPOST_TIMEOUT";
    case TILEPOST_ABORTED:
      return "TILEPOST_ABORTED";
    case TILEPOST_INTERNAL_ERROR:
      return "TILEPOST_INTERNAL_ERROR";
  }
  return "unknown tilepost_result_t";
}
