// What the measurements of all programs share.
#pragma once

#include <functional>

#include "runtime/bench/machine.h"
#include "runtime/bench/options.h"

namespace tilepost::bench {

struct Session {
  const Machine& machine;
  const Nvml& nvml;
  const HarnessOptions& options;
  std::function<void()> alive;  // called at least every few seconds
};

}  // namespace tilepost::bench
