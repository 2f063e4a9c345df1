// A build without NVTX (TILEPOST_NO_NVTX) loads no profiler, whatever the environment says.
#include <dlfcn.h>

#include <cstdlib>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"

TEST_CASE_METHOD(Operation, "a build without NVTX does not look for a profiler") {
  REQUIRE(setenv("NVTX_INJECTION64_PATH", NVTX_RECORDER, 1) == 0);
  create();
  REQUIRE(run() == TILEPOST_OK);
  release();
  CHECK(dlopen(NVTX_RECORDER, RTLD_LAZY | RTLD_NOLOAD) == nullptr);
  void* const there = dlopen(NVTX_RECORDER, RTLD_LAZY);  // it could have been loaded
  CHECK(there != nullptr);
  dlclose(there);
}
