// What a kernel's threads do that other threads can see, and what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clang/AST/Type.h"
#include "clang/Basic/SourceLocation.h"
#include "generator/infer/values/launch.h"
#include "generator/infer/values/nodes.h"

namespace tilepost {

// Something that the proof has found, and its place in the source.
struct InferredPlace {
  clang::SourceLocation where;
  std::string what;
};

namespace inference {

// One store of each thread into the output, or one read of the output by each thread. A matrix that
// a warp moves together has `rows` rows of `width` bytes, which are `pitch` bytes apart. Address
// and pitch are then those of lane 0.
struct Access {
  NodeId address;  // bytes from the output's start
  NodeId guard;    // whether the thread makes the access
  int64_t width;   // in bytes
  int64_t rows = 1;
  NodeId pitch = 0;
  bool by_warp = false;
  clang::SourceLocation where;
  clang::QualType number;      // the type of the number that is stored; null for structs and bytes
  clang::SourceLocation loop;  // the outermost unrolled loop around the access, if there is one
};

// A *meeting*: a barrier, or an operation that lanes of a warp do together.
struct Meeting {
  NodeId guard;   // whether the thread gets here, by conditions that are known or alike in a block
  NodeId unsure;  // … by conditions that may be unknown and may differ
  NodeId gone;    // whether the thread has already left the kernel
  bool of_warp;
  NodeId lanes;  // mask of the lanes that a thread waits for here; 0: only those that come
  clang::SourceLocation where;
};

// What is wrong with a kernel's stores, and where.
struct Complaint {
  clang::SourceLocation where;  // invalid if the complaint is about the kernel as a whole
  std::string text;
  clang::SourceLocation note_at;
  std::string note;
};

// The effects of a kernel's threads that other threads can see.
struct Effects {
  std::vector<Access> stores;
  std::vector<Access> reads;  // reads of the output
  std::vector<Meeting> meetings;
};

// The nodes for the places and the conditions of these effects.
std::vector<NodeId> roots_of(const Effects& effects);
// How many stores, reads and meetings there are, each counted once for every thread of every block.
double work_of(const Effects& effects, const KernelFacts& facts);

}  // namespace inference
}  // namespace tilepost
