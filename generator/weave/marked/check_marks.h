// Checks whether the marks of a user's kernel can be right. `tilepost verify` finds out what the
// source does not show, by running the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generator/clang/instantiate.h"

namespace tilepost {

// What the spec says about the kernel at the planned shape.
struct MarkFacts {
  std::string out;  // the parameter that points to the output; "" if a launcher gives the arguments
  std::map<std::string, int64_t> numbers;  // the values of parameters, by name
  int64_t n = 0;                           // how many elements a row of the output has
  int64_t tile_m = 0, tile_n = 0, cluster = 1, signals = 1;
};

// Refuses in the code that the kernel reaches, each at its place:
// - uses of the output outside of tilepost::out and tilepost::out_base, and rows whose length is
//   not n (check_output);
// - tiles that do not come from tilepost::tile, that are stored but never done, or that are stored
//   after they are done; with `signals` 1 also tiles that are done twice; and sizes of the grid
//   that are not the spec's (check_tiles);
// - tile_done calls by other threads than must call it (check_callers).
void check_marks(const Parsed& parsed, const Instance& instance, const MarkFacts& facts);

// The parts of check_marks(). `functions`: the kernel, and then the functions that it reaches.
using Functions = std::vector<const clang::FunctionDecl*>;
void check_output(const Parsed& parsed, const Functions& functions, const MarkFacts& facts);
void check_tiles(const Parsed& parsed, const Functions& functions, const MarkFacts& facts);
void check_callers(const Parsed& parsed, const Functions& functions);

}  // namespace tilepost
