// From kernel source and plan to specialised kernel source.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"

namespace tilepost {

struct WeaveRequest {
  std::string file;                             // what messages call the source: "gemm_sm90.cu"
  std::string source;                           // its text
  std::string function;                         // the kernel to keep
  std::map<std::string, std::string> tunables;  // name -> literal
  std::vector<std::string> keep;  // further namespace-scope names to keep ("kThreads")
  std::string view_type;          // type of the view parameter: "View"
  bool cuda = true;               // a .cu file; else C++
  bool waits = false;             // A arrives while the kernel runs: it must mark where it reads it
  bool stores = false;            // into other ranks' memory: it must mark the maps it stores with
  bool sources = false;           // it adds what other ranks have computed of its tiles
  bool spreads = false;           // and stores the sums with all ranks
  bool tasks = false;             // of a helper warp: it must mark one
  bool reads_own = false;         // rows of A where the caller has them: it must mark their map
  bool exchanges = false;         // tiles with other ranks: it must mark its part in that
  bool gathers = false;           // the same of rows of A
  std::string arch_guard;         // macro that must be non-zero for the kernel's body, or empty
};

struct WovenKernel {
  // What stands in front of all inclusions where headers ask for macros of the kernel's file, or
  // are a library's: these macros and the headers, as its author orders them.
  std::vector<std::string> first;
  std::vector<std::string>
      includes;          // as spelled: "<tilepost/device/ptx_sm90.cuh>"; sorted, no mark.cuh
  std::string body;      // what goes inside the generated namespace
  bool by_arch = false;  // it depends on the architecture that it was read for
};

// Weaves. Reports every refusal at its place in `source` and returns nothing if there was one.
std::optional<WovenKernel> weave(const WeaveRequest& request, Diagnostics& diagnostics);

// weave(), remembering what succeeded in this process: plans that differ only in numbers the kernel
// does not fold share one weave. Not thread-safe.
std::optional<WovenKernel> weave_cached(const WeaveRequest& request, Diagnostics& diagnostics);

}  // namespace tilepost
