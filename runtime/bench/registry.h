// The programs that a harness was built with. `tilepost bench` writes the definition of registry().
#pragma once

#include "runtime/harness/plain_launch.h"
#include "tilepost/plan.h"

namespace tilepost::bench {

// A template that is not woven, compiled with the numbers of a plan. It is the same kernel without
// the signal.
struct PlainKernel {
  const void* function;  // the __global__ function
  int threads, shared_bytes;
};

struct Entry {
  const char* name;  // the name of the program
  const tilepost_program_t* (*program)(void);
  PlainKernel (*plain)(void);               // null for a user's own kernel
  harness::PlainLaunch (*own)() = nullptr;  // for a user's own kernel, otherwise null
};

struct Registry {
  const Entry* entries;
  int count;
};

Registry registry();

}  // namespace tilepost::bench
