// The request to weave a kernel of the user's own, with marks or without.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "generator/clang/instantiate.h"
#include "generator/clang/reading.h"
#include "generator/one_file.h"

namespace tilepost {

// The texts below are C++. In them `shape` is the run's tilepost_shape_t, and a, b and c are
// pointers to void.
struct OwnRequest {
  OneFile source;
  Reading reading;                               // asks for the kernel: "lib::my_gemm<128>"
  std::string kernel;                            // the name of the woven kernel
  std::map<std::string, std::string> arguments;  // by parameter: whole or real numbers
  std::map<std::string, std::string> memory;     // by parameter: "a", "b", "c", "nullptr", or user
                                                 // data such as "data_.at[1]"
  int32_t num_user = 0;                          // user data: how many addresses data_.at has
  std::array<int32_t, 3> threads = {1, 1, 1};    // x, y and z of a block
  int32_t shared_bytes = 0;                      // dynamic shared memory of a block
  int32_t blocks_per_sm = 1;                     // kernel.blocks_per_sm of the spec
  int32_t count_at = -1;                         // OwnKernel::count_at
  bool loop = false;     // whether a block of a kernel without marks computes several tiles
  bool cpu = false;      // whether the text is for the CPU shim (runtime/verify/host/shim)
  bool stores = false;   // whether the kernel stores into other ranks' memory
  bool waits = false;    // whether A arrives while the kernel runs
  bool one_arch = true;  // whether the text is for the architecture of `reading` alone
  std::string out;       // which parameter points to the output
  std::string launcher;  // the user's, "lib::launch", which gives the arguments, or ""
  std::string shape;     // with a launcher and without marks: the members of tilepost_shape_t
};

// The text that declares the type of `data_`, for kernels that have user data; else "". It belongs
// in front of the user's namespace.
std::string user_type(const OwnRequest& request);
// An expression of the type of `data_`: the first `count` addresses that `from` points to.
std::string user_of(int32_t count, const std::string& from);

// Functions in the user's namespace of a woven text that launches its kernel itself. The first
// returns a pointer to the kernel, the second launches the kernel.
inline constexpr char kWovenFunction[] = "woven_function_";
inline constexpr char kWovenLauncher[] = "woven_launcher_";

// The argument for a parameter. Refuses a parameter that is given nothing, and returns "".
std::string argument_of(const Parsed& parsed, const OwnRequest& request,
                        const Parameter& parameter);

}  // namespace tilepost
