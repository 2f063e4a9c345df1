// How a source is read.
#pragma once

#include <string>

namespace tilepost {

struct Reading {
  bool cuda = true;  // a .cu file; else C++
  // A function to instantiate, as find_instance() finds it: "lib::gemm<128, float>". May be empty.
  std::string asked;
};

// Folders that exist while a source is read: stand-in headers, and tilepost's own.
constexpr char kStubFolder[] = "/stub/";
constexpr char kOwnFolder[] = "/include/";
// The variable behind the source that holds the address of the function asked for.
constexpr char kAskedName[] = "tilepost_asked_";

}  // namespace tilepost
