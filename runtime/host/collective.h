// The collectives within a process. They do what one rank does for the steps of a group when all
// ranks have brought their buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/host/elements.h"
#include "runtime/map/steps.h"
#include "tilepost/plan.h"

namespace tilepost {

// The memory that a rank brings to the steps of a group. The other ranks read this memory and, in
// an all_reduce, write it.
struct HostBuffers {
  void* send;                   // elements have the output's type
  void* received;               // where steps receive; elements have the output's type
  InputRows a;                  // this rank's rows of A
  InputRows gathered;           // all ranks' rows of A
  std::span<const Step> steps;  // the steps of the group; not used if ranks share memory
};

// Carries out own_rows steps. They need no other rank, and must be done before other ranks read.
void copy_own_rows(const HostBuffers& own, const InputFormat& input);

// The ranks that take part in a group's steps, with the buffers of each.
struct HostTeam {
  tilepost_dtype_t output;
  InputFormat input;
  int ranks;
  const HostBuffers* const* buffers;  // [ranks]
};

// Carries out the part of the group's steps that brings data to `rank`. Every rank does so for
// itself. Sums are added in fp32, in the order of the ranks, and rounded once. Returns a text about
// a mismatch between two ranks' steps, or an empty text.
std::string receive_steps(const HostTeam& team, int rank);

}  // namespace tilepost
