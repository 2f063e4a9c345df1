// What of a plan the text of its kernel depends on. Plans that differ in nothing else run the same
// machine code, so that a program that plans at run time finds its kernel among kernels that were
// compiled before (generator/program).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// What the kernel does besides multiplying. The weaver rewrites the marks for it
// (generator/weave/weave.h says what each means).
struct KernelDuties {
  bool waits = false;
  bool stores = false;
  bool fused = false;
  bool sources = false;
  bool spreads = false;
  bool tasks = false;
  bool reads_own = false;
  bool exchanges_parts = false;
  bool gathers = false;
};
KernelDuties duties_of(const Plan& plan);

// Constants of one type in which the kernel's view differs from tilepost::woven::View.
struct ViewConstants {
  const char* type;
  std::string values;  // "kTileM = 128, kTileN = 256"
};
std::vector<ViewConstants> view_of(const Plan& plan);

// Everything that the text of a bundled kernel depends on.
struct KernelVariant {
  Arch arch = Arch::host;
  std::string file;                             // the template: "gemm_sm90.cu"
  std::string function;                         // the kernel's name in it
  std::map<std::string, std::string> tunables;  // those that the woven kernel reads
  int threads = 0, shared_bytes = 0;            // what the text asserts of itself
  KernelDuties duties;
  std::vector<ViewConstants> view;

  // One line of printable ASCII without quotes. Two variants have the same key exactly if they are
  // equal.
  std::string key() const;
};

// By this name a compiled kernel of the host target is found, a tilepost_host_kernel_t.
inline constexpr char kHostEntry[] = "tilepost_catalogue_kernel";

// Requires a plan of a bundled kernel.
KernelVariant variant_of(const Plan& plan);

// Whether there is a kernel with this key, where kernels are compiled already. Empty: they will be
// compiled, so that there is any.
using HasKernel = std::function<bool(const std::string& key)>;

// The least time that a run is predicted to take with each kernel, us, by the kernels' keys.
using VariantTimes = std::map<std::string, double>;

}  // namespace tilepost
