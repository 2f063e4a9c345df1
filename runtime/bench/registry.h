// The programs a harness was built with; the definition is written by `tilepost bench`.
#pragma once

#include "runtime/harness/plain_launch.h"
#include "tilepost/plan.h"

namespace tilepost::bench {

// A template un-woven, compiled with the numbers of a plan: the same kernel, without the signal.
struct PlainKernel {
  const void* function;  // the __global__ function
  int threads, shared_bytes;
};

struct Entry {
  const char* name;  // of the program
  const tilepost_program_t* (*program)(void);
  PlainKernel (*plain)(void);               // null of a kernel of the user's own,
  harness::PlainLaunch (*own)() = nullptr;  // which has this
};

struct Registry {
  const Entry* entries;
  int count;
};

Registry registry();

}  // namespace tilepost::bench
