// How the spec describes a kernel's launch.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilepost {

// A kernel's launch at one shape, as the spec describes it. The output is m rows of n elements. For
// a column-major output m and n are exchanged here, and so are the sides of the tile.
struct KernelFacts {
  int64_t m = 0, n = 0, k = 0;
  std::array<int64_t, 2> tile{};  // rows, columns
  std::array<int64_t, 3> threads{1, 1, 1};
  std::array<int64_t, 3> grid{1, 1, 1};    // of the plain kernel's launch
  std::map<std::string, int64_t> numbers;  // value of each integer parameter, by its name
  std::set<std::string> nulls;             // pointer parameters that are given null
  std::string out;                         // the parameter that points to the output
  int64_t out_ld = 0;                      // elements from one row to the next
  int out_bytes = 0;                       // bytes of an element of the output
  std::vector<std::string> libraries;      // folders of headers that are neither CUDA's nor C++'s
};

// Returns the facts of the launch at `m` rows, for any m from 1 on, where the spec bounds m.
using FactsAt = std::function<KernelFacts(int64_t m)>;

}  // namespace tilepost
