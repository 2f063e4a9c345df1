// Whether the marks of a user's kernel can be true. What cannot be seen in the source, `tilepost
// verify` finds out by running the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generator/clang/instantiate.h"

namespace tilepost {

// What the spec says of the kernel at the planned shape.
struct MarkFacts {
  std::string out;  // the parameter that points to the output; "": a launcher gives the arguments
  std::map<std::string, int64_t> numbers;  // by parameter
  int64_t n = 0;                           // elements of a row of the output
  int64_t tile_m = 0, tile_n = 0, cluster = 1, signals = 1;
};

// Refuses, each at its place, in what the kernel reaches:
// - uses of the output that are not by tilepost::out or tilepost::out_base, and rows that are not n
//   long (check_output);
// - tiles that are stored and never done, or done and not chosen by tilepost::tile; done more often
//   than `signals` says, or before they are stored; other sizes than the spec's (check_tiles);
// - tile_done that other threads call than have to (check_callers).
void check_marks(const Parsed& parsed, const Instance& instance, const MarkFacts& facts);

// Its parts. `functions`: what the kernel reaches, itself first.
using Functions = std::vector<const clang::FunctionDecl*>;
void check_output(const Parsed& parsed, const Functions& functions, const MarkFacts& facts);
void check_tiles(const Parsed& parsed, const Functions& functions, const MarkFacts& facts);
void check_callers(const Parsed& parsed, const Functions& functions);

}  // namespace tilepost
