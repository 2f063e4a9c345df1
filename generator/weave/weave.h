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
  std::string function;                         // the kernel that is woven
  std::map<std::string, std::string> tunables;  // name -> literal
  std::vector<std::string> keep;  // further namespace-scope names to keep ("kThreads")
  std::string view_type;          // type of the view parameter: "View"
  bool cuda = true;               // a .cu file; else C++
  bool waits = false;             // A arrives while the kernel runs: it must mark its reads
  bool stores = false;            // it stores into other ranks' memory: it must mark its maps
  bool fused = false;             // a warp of it begins and ends runs: it must mark where
  bool sources = false;           // fused, and it adds other ranks' sums for its tiles
  bool spreads = false;           // fused, and it stores finished tiles into other ranks' outputs
  bool tasks = false;             // it must mark a helper warp, which does tasks
  bool reads_own = false;         // it reads this rank's rows of A in place: it must mark the map
  bool exchanges_parts = false;   // it exchanges tiles with other ranks: it must mark where
  bool gathers = false;           // it exchanges rows of A with other ranks: likewise
  std::string arch_guard;         // macro that must be non-zero for the kernel's body, or empty
};

struct WovenKernel {
  // Lines that must stand in front of all inclusions: macros of the kernel's file and headers, in
  // the author's order (Parsed::first). It is empty unless a header asks for such a macro or comes
  // from a library.
  std::vector<std::string> first;
  std::vector<std::string>
      includes;          // as spelled: "<tilepost/device/ptx_sm90.cuh>"; sorted, no mark.cuh
  std::string body;      // what goes inside the generated namespace
  bool by_arch = false;  // its lines depend on the architecture it was read for
};

// Weaves. Reports every refusal at its place in `source` and returns nothing if there was one.
std::optional<WovenKernel> weave(const WeaveRequest& request, Diagnostics& diagnostics);

// weave() with a cache of what succeeded in this process: plans that differ only in numbers that
// the kernel does not fold share one result. Not thread-safe.
std::optional<WovenKernel> weave_cached(const WeaveRequest& request, Diagnostics& diagnostics);

}  // namespace tilepost
