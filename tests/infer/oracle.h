// Whether kernels do what inference says: they are run on the CPU, every thread of every block, and
// what each block changed in the output is looked at. Nothing is shared with inference.
#pragma once

#include <string>
#include <vector>

#include "tests/infer/case.h"

namespace tilepost {

enum class Verdict {
  holds,  // each block stores all of exactly one tile, no two the same
  fails,
  undefined,  // it reads or stores where it has nothing, stops itself, or does not end
};

// Runs the kernels, compiled as one program, at all shapes of each.
std::vector<Verdict> run_on_cpu(const std::vector<InferCase>& kernels, const std::string& folder);

}  // namespace tilepost
