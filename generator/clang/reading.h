// How a source is read.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilepost {

// Reading with installed headers: those of a CUDA Toolkit, of the system's C++ library and of the
// user, as nvcc sees them.
struct FullMode {
  std::string toolkit;                    // its folder, which has include/ (find_toolkit)
  std::string path;                       // of the source: its quoted includes are beside it
  std::vector<std::string> include_dirs;  // -isystem
  std::vector<std::string> defines;       // -D: "NAME" or "NAME=value"
  std::string standard = "c++17";         // -std

  bool operator==(const FullMode&) const = default;
};

struct Reading {
  bool cuda = true;  // a .cu file; else C++
  // A function to instantiate, as find_instance() finds it: "lib::gemm<128, float>". May be empty.
  std::string asked;
  std::string arch = "sm_90a";  // of a .cu file: its code is read for this __CUDA_ARCH__
  // Functions of tilepost's own headers are read without their bodies. Inline PTX is most of these,
  // and takes Clang longer than all the rest.
  bool bodiless_headers = false;
  // For CUDA sources only. Without it stand-ins for the headers are read, which need no
  // installation.
  std::optional<FullMode> full;

  bool operator==(const Reading&) const = default;
};

// Folders that exist while a source is read: stand-in headers, and tilepost's own.
constexpr char kStubFolder[] = "/stub/";
constexpr char kOwnFolder[] = "/include/";
// The folder of all folders that full mode adds to those of the machine.
constexpr char kAddedFolder[] = "/.tilepost/";
// The variable behind the source that holds the address of the function asked for.
constexpr char kAskedName[] = "tilepost_asked_";

}  // namespace tilepost
