// From plans to files, in memory.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/plan.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

struct OutputFile {
  std::string name;  // "attn_out.cu"
  std::string text;
};

// Weaves each plan's kernel and returns `<name>.cu` (or `.cpp` for the host target), `<name>.h` and
// `<name>.plan.json`; no files if the weaver refused a kernel. `spec_name` is the spec's file name
// without folder. With `timestamps` the kernels note when they have computed tiles
// (tilepost/timeline.h). Refuses that for plans whose kernels cannot.
std::vector<OutputFile> emit(const std::vector<Plan>& plans, llvm::StringRef spec_name,
                             Diagnostics& diagnostics, bool timestamps = false);

// The woven kernels alone, one for each plan, as a source that compiles without `<name>.h`. "" if
// the weaver refused one.
std::string emit_woven(const std::vector<Plan>& plans, llvm::StringRef spec_name,
                       Diagnostics& diagnostics);

// The source of one kernel of a catalogue (generator/catalogue): the woven kernel of a plan, with
// nothing of the plan that the kernel does not depend on. It compiles alone. A kernel of the host
// target is called by the function kHostEntry (generator/plan/variant.h). "" if the weaver refused
// the kernel. Requires a plan of a bundled kernel.
std::string emit_for_catalogue(const Plan& plan, Diagnostics& diagnostics);

}  // namespace tilepost
