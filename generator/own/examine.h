// Reads a kernel of the user's own and finds out what planner and weaver need to know about it.
#pragma once

#include <memory>
#include <string_view>

#include "generator/clang/reading.h"
#include "generator/diagnostics.h"
#include "generator/own/own_kernel.h"

namespace tilepost {

// Examines the kernel of a spec; null if the spec has none. The kernel's file is looked for beside
// `spec_path`, the spec's file. Null also after an error, which is reported at its place in the
// spec or in the kernel's source.
std::shared_ptr<const OwnKernel> examine_kernel(const Spec& spec, std::string_view spec_path,
                                                Diagnostics& diagnostics);

// How the kernel's source is read. All code that reads the source uses this.
Reading reading_of(const OwnKernel& own);

}  // namespace tilepost
