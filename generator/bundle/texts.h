// The texts of a bundle that depend on its operations: Makefile, CMakeLists.txt, README.md.
#pragma once

#include <string>
#include <vector>

#include "generator/driver.h"
#include "generator/harness/programs.h"

namespace tilepost {

// The contents of a bundle that the texts describe.
struct BundleContents {
  const std::vector<Input>& inputs;
  const std::vector<Sweep>& sweeps;
  const std::vector<Shape>& shapes;
  const std::vector<HarnessProgram>& programs;  // of all their combinations, all for one target
  bool cuda = false;
  std::vector<std::string> runtime;        // sources of the runtime
  std::vector<std::string> check_kernels;  // .cu sources of the self-check
  std::string runtime_version;             // equal for equal runtimes only
};

std::string bundle_makefile(const BundleContents& contents);
std::string bundle_cmakelists(const BundleContents& contents);
std::string bundle_readme(const BundleContents& contents);

// The architectures that all the programs' plans are for, in the order of the enumerators.
std::vector<Arch> archs_of(const std::vector<HarnessProgram>& programs);

}  // namespace tilepost
