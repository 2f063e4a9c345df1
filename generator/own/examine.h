// Reads a kernel of the user's own and finds out what planner and weaver need to know of it.
#pragma once

#include <memory>
#include <string_view>

#include "generator/clang/reading.h"
#include "generator/diagnostics.h"
#include "generator/own/own_kernel.h"

namespace tilepost {

// The kernel of a spec that has one. `spec_path` is the spec's: the kernel's file is looked for
// beside it. Null after an error was reported, at its place in the spec or in the kernel's source.
std::shared_ptr<const OwnKernel> examine_kernel(const Spec& spec, std::string_view spec_path,
                                                Diagnostics& diagnostics);

// How its source is read, by all who read it.
Reading reading_of(const OwnKernel& own);

}  // namespace tilepost
