// A kernel of the user's own in place of a bundled one.
#pragma once

#include <memory>

#include "generator/plan/kernels/family.h"

namespace tilepost {

struct OwnShape : FamilyShape {
  std::shared_ptr<const OwnKernel> kernel;
};

const KernelFamily& own_family();

// Its only configuration; the plan's copies share the kernel.
KernelConfig own_config(std::shared_ptr<const OwnKernel> own);

}  // namespace tilepost
