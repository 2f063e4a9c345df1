// Refuses instructions that one of the spec's architectures does not have.
#pragma once

#include <vector>

#include "generator/clang/instantiate.h"
#include "generator/spec/spec.h"

namespace tilepost {

// Looks at the inline assembly of all functions that the kernel reaches, with marks and without.
// Reports the first instruction of another architecture in each statement and returns false if
// there is one. ptxas would refuse it when generated code is compiled.
bool check_instructions(const Parsed& parsed, const Instance& instance,
                        const std::vector<Arch>& archs);

}  // namespace tilepost
