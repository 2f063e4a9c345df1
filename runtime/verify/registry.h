// The programs a harness was built with; the definition is written by `tilepost verify`.
#pragma once

#include "runtime/harness/plain_launch.h"
#include "tilepost/plan.h"

namespace tilepost::verify {

struct Entry {
  const char* name;    // of the program
  const char* varied;  // what a sweep varied that a line does not show anyway, or ""
  const tilepost_program_t* (*program)(void);
  harness::PlainLaunch (*plain)() = nullptr;  // of a kernel of the user's own, else null
};

struct Registry {
  const Entry* entries;
  int count;
};

Registry registry();

}  // namespace tilepost::verify
