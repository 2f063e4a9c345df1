// `tilepost --cmake-dir`: where find_package(tilepost) finds the package that this program belongs
// to.
#pragma once

#include <string>

#include "generator/diagnostics.h"

namespace tilepost {

// Prints the folder with tilepostConfig.cmake: that of the install prefix, wheel or build tree that
// this program lies in. Where there is none, reports the places that were looked at. Returns the
// exit code. `called_as` is argv[0], which tells where the program lies on machines without /proc.
int cmake_dir_command(const std::string& called_as, Diagnostics& diagnostics);

}  // namespace tilepost
