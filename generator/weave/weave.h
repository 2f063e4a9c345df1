// Makes the specialised source of a kernel from the kernel's source and a plan.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"

namespace tilepost {

struct WeaveRequest {
  std::string file;                             // the source's name in messages: "gemm_sm90.cu"
  std::string source;                           // the text of the source
  std::string function;                         // the kernel that is woven
  std::map<std::string, std::string> tunables;  // the literal of each tunable, by name
  std::vector<std::string> keep;  // names at namespace scope that must stay too, as "kThreads"
  std::string view_type;          // type of the view parameter: "View"
  bool cuda = true;               // whether the source is a .cu file; else it is C++
  // Whether the kernel does each of these things. It must then have the marks for it.
  bool waits = false;            // waits for rows of A that arrive while it runs
  bool stores = false;           // stores into other ranks' memory
  bool fused = false;            // begins and ends runs, by one of its warps
  bool sources = false;          // fused, and adds other ranks' sums for its tiles
  bool spreads = false;          // fused, and stores finished tiles into other ranks' outputs
  bool tasks = false;            // has a helper warp, which does tasks
  bool reads_own = false;        // reads this rank's rows of A in place, with a tensor map
  bool exchanges_parts = false;  // exchanges tiles with other ranks
  bool gathers = false;          // exchanges rows of A with other ranks

  std::string arch_guard;  // macro that must be non-zero for the kernel's body, or empty
};

struct WovenKernel {
  // Lines that must stand in front of all inclusions: macros of the kernel's file and headers, in
  // the author's order (Parsed::first). It is empty unless a header asks for such a macro or comes
  // from a library.
  std::vector<std::string> first;
  std::vector<std::string>
      includes;          // as spelled: "<tilepost/device/ptx_sm90.cuh>"; sorted, no mark.cuh
  std::string body;      // what goes inside the generated namespace
  bool by_arch = false;  // whether the body depends on the architecture it was read for
};

// Weaves. Reports every refusal at its place in `source`. Returns nothing if anything was refused.
std::optional<WovenKernel> weave(const WeaveRequest& request, Diagnostics& diagnostics);

// weave() with a cache of the results of this process. Plans that differ only in numbers that the
// kernel does not fold share one result. Failures are not kept. Not thread-safe.
std::optional<WovenKernel> weave_cached(const WeaveRequest& request, Diagnostics& diagnostics);

}  // namespace tilepost
