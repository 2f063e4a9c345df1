// `tilepost profile`: measures this machine and makes the profile that the planner predicts with.
//
// The measurements themselves are in runtime/profile/: a program that the tool carries as source,
// compiles with this machine's compiler together with the runtime and the un-woven templates, and
// runs once for all GPUs.
#pragma once

#include <string>

#include "generator/driver.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

struct ProfileOptions {
  std::string output;  // where the profile goes; beside it, as <output>.part, what was measured
  std::string base;    // the name or file of `base_machine`, for messages
  std::shared_ptr<const Machine> base_machine;  // has what is not measured; null: chosen by the GPU
  std::string from;                  // a file with measurements: nothing is measured; "": none
  bool without_peer_access = false;  // measure as if GPUs did not reach each other
  bool beside_others = false;        // measure although other processes compute on the GPUs
  bool no_run = false;               // compile into keep_dir and measure nothing
  std::string keep_dir;              // where to leave sources and program; empty: temporary
  int jobs = 0;                      // compilers at a time; 0: one per core
  std::string cache_dir;             // keeps what was compiled for the next run; empty: not
};

struct ProfileResult {
  std::string profile;       // the text of the profile; "" if there is none
  std::string measurements;  // all records, line by line
};

// Measures and fits. Prints what was fitted, how well, and what was not, to `out`, and progress to
// standard error. What was measured is in <output>.part as soon as it is measured; the next call
// goes on from there. Returns the exit code: 0 the profile is there, 1 it is not, 3 a file could
// not be written.
int profile(const ProfileOptions& options, llvm::raw_ostream& out, ProfileResult& result,
            Diagnostics& diagnostics);

}  // namespace tilepost
