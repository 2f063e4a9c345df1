// The programs that a harness was built with. `tilepost verify` writes the definition of
// registry().
#pragma once

#include "runtime/harness/plain_launch.h"
#include "tilepost/plan.h"

namespace tilepost::verify {

struct Entry {
  const char* name;    // name of the program
  const char* varied;  // what a sweep varied, if the report's line does not show it otherwise; else
                       // ""
  const tilepost_program_t* (*program)(void);
  harness::PlainLaunch (*plain)() = nullptr;  // for a kernel of the user's own; otherwise null
};

struct Registry {
  const Entry* entries;
  int count;
};

Registry registry();

}  // namespace tilepost::verify
