// The programs a harness was built with; the definition is written by `tilepost verify`.
#pragma once

#include "tilepost/plan.h"

namespace tilepost::verify {

struct Entry {
  const char* name;    // of the program
  const char* varied;  // what a sweep varied that a line does not show anyway, or ""
  const tilepost_program_t* (*program)(void);
};

struct Registry {
  const Entry* entries;
  int count;
};

Registry registry();

}  // namespace tilepost::verify
