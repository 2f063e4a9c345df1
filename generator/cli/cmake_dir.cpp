#include "generator/cli/cmake_dir.h"

#include <fmt/format.h>

#include "generator/cli/commands.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

namespace path = llvm::sys::path;

// Paths from the folder of the program to the package, when it is installed and in a build tree.
constexpr llvm::StringRef kInstalled = TILEPOST_PACKAGE_FROM_BIN;
constexpr llvm::StringRef kBuilt = "..";
constexpr llvm::StringRef kConfig = "tilepostConfig.cmake";

std::string package_folder(llvm::StringRef program, llvm::StringRef from_bin) {
  llvm::SmallString<256> folder(path::parent_path(program));
  path::append(folder, from_bin);
  path::remove_dots(folder, /*remove_dot_dot=*/true);
  return folder.str().str();
}

}  // namespace

int cmake_dir_command(const std::string& called_as, Diagnostics& diagnostics) {
  static const char anchor = 0;  // an address in this program, which LLVM asks for
  const std::string program =
      llvm::sys::fs::getMainExecutable(called_as.c_str(), const_cast<char*>(&anchor));
  const std::string installed = package_folder(program, kInstalled);
  const std::string built = package_folder(program, kBuilt);
  for (const std::string& folder : {installed, built}) {
    if (!llvm::sys::fs::exists(folder + "/" + kConfig.str())) continue;
    llvm::outs() << folder << "\n";
    return kExitOk;
  }
  diagnostics.error(fmt::format(
      "no CMake package belongs to '{}': {} is neither in '{}' nor in '{}'; install tilepost with "
      "'cmake --install' or from its wheel, and do not move the program alone",
      program, kConfig.str(), installed, built));
  return kExitIo;
}

}  // namespace tilepost
