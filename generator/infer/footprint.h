// Where a kernel stores, for all threads of all blocks, and whether that is a tile for each block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/infer/infer.h"
#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

// One store of each thread into the output, or one read of it. Of a matrix that a warp moves
// together: `rows` of `width` bytes each, `pitch` bytes apart, of lane 0.
struct Access {
  NodeId address;  // bytes from the output's start
  NodeId guard;    // whether the thread gets here
  int64_t width;   // bytes
  int64_t rows = 1;
  NodeId pitch = 0;
  bool by_warp = false;
  clang::SourceLocation where;
  clang::SourceLocation loop;  // the outermost loop around it, if there is one
};

// A barrier, or what the lanes of a warp do together.
struct Meeting {
  NodeId guard;   // whether the thread gets here, as far as that is known or the same for all
  NodeId unsure;  // … and as far as it may differ and may not be known
  NodeId gone;    // whether it has left the kernel before
  bool of_warp;
  NodeId lanes;  // … a mask of those that a thread that comes waits for; 0: of those that come
  clang::SourceLocation where;
};

// What is wrong with a kernel's stores, and where.
struct Complaint {
  clang::SourceLocation where;  // invalid: the kernel as a whole
  std::string text;
  clang::SourceLocation note_at;
  std::string note;
};

struct Footprint {
  std::vector<int64_t> blocks;  // as Inferred's, of one shape
  std::vector<Complaint> complaints;
  clang::SourceLocation meeting;  // to which not all warps come, if there is one
};

// What threads of the kernel do that others see.
struct Doings {
  std::vector<Access> stores;
  std::vector<Access> reads;  // of the output
  std::vector<Meeting> meetings;
};

// The nodes that say where and whether that is.
std::vector<NodeId> roots_of(const Doings& doings);
// How often a store, a read or a meeting of a thread is looked at.
double work_of(const Doings& doings, const KernelFacts& facts);

// What a block reads of the output has to lie in the tile that it stores, and to a meeting all
// lanes of a warp have to come, or none.
Footprint find_footprint(const Nodes& nodes, const Doings& doings, const KernelFacts& facts);

}  // namespace tilepost::inference
