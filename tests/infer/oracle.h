// Whether kernels do what inference claims. Every thread of every block runs on the CPU, and each
// block's changes of the output are checked. This shares no code with inference.
#pragma once

#include <string>
#include <vector>

#include "tests/infer/case.h"

namespace tilepost {

enum class Verdict {
  holds,  // each block stores all of one tile, and no two blocks store the same tile
  fails,
  undefined,  // the kernel accesses memory that is not there, stops itself, or does not end
};

// Compiles all kernels as one program, and runs each at all of its shapes.
std::vector<Verdict> run_on_cpu(const std::vector<InferCase>& kernels, const std::string& folder);

}  // namespace tilepost
