// The programs that a harness was built with. `tilepost bench` writes the definition.
#pragma once

#include "runtime/harness/plain_launch.h"
#include "tilepost/plan.h"

namespace tilepost::bench {

// An un-woven template, compiled with the numbers of a plan: the same kernel, without the signal.
struct PlainKernel {
  const void* function;  // the __global__ function
  int threads, shared_bytes;
};

struct Entry {
  const char* name;  // name of the program
  const tilepost_program_t* (*program)(void);
  PlainKernel (*plain)(void);               // null for a kernel of the user's own
  harness::PlainLaunch (*own)() = nullptr;  // a kernel of the user's own; else null
};

struct Registry {
  const Entry* entries;
  int count;
};

Registry registry();

}  // namespace tilepost::bench
