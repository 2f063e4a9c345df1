// A bundle: generated sources and all that they need, in one folder. The public headers, the
// runtime of one target, a self-check (the harness of `tilepost verify`), a Makefile and a
// CMakeLists.txt come along, so that it builds with a compiler, or with CUDA and NCCL, and nothing
// else.
#pragma once

#include <string>
#include <vector>

#include "generator/harness/sweep.h"

namespace tilepost {

// The file in which a bundle lists its own files, itself among them, one a line after the first
// line.
inline constexpr const char* kBundleList = "bundle.list";
inline constexpr const char* kBundleListHead =
    "# tilepost wrote these files, and replaces them when this bundle is renewed.";

// The files of a bundle of all inputs, each at every shape and combination of the sweeps, with
// their paths in the bundle, sorted by path. They depend on the arguments and the version alone.
// Empty, with the reason reported, if an input is rejected or the inputs do not go together: they
// must be for one target, and their names must differ.
std::vector<OutputFile> make_bundle(const std::vector<Input>& inputs,
                                    const std::vector<Sweep>& sweeps,
                                    const std::vector<Shape>& shapes, Diagnostics& diagnostics);

}  // namespace tilepost
