// What the runtime asks of a GPU, read once.
#pragma once

#include <string>

#include "runtime/core/error.h"

namespace tilepost::cuda {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int sm = 0;                // compute capability * 10: 90 for 9.0
  int sms = 0;               // multiprocessors
  int max_shared_bytes = 0;  // of one CTA, after opting in
};

tilepost_result_t read_device(int ordinal, DeviceInfo& info);

}  // namespace tilepost::cuda
