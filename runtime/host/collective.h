// The in-process collectives: what one rank does for the steps of a group when all ranks have
// brought their buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/map/steps.h"
#include "tilepost/plan.h"

namespace tilepost {

// What a rank brings to the steps of a group. The other ranks read this memory and, in an
// all_reduce, write it.
struct HostBuffers {
  void* send;                   // elements have the output's type
  void* received;               // likewise; what steps receive goes here
  const void* a;                // this rank's rows of A
  void* gathered;               // all ranks' rows of A
  std::span<const Step> steps;  // of this group; not used where ranks share memory
};

// Carries out own_rows steps, which need no other rank and must be done before other ranks read.
// `input_bytes`: per element of A.
void copy_own_rows(const HostBuffers& own, int input_bytes);

// The ranks that take part in a group's steps, with the buffers of each.
struct HostTeam {
  tilepost_dtype_t output;
  int input_bytes;  // per element of A
  int ranks;
  const HostBuffers* const* buffers;  // [ranks]
};

// Carries out what the group's steps bring to `rank`. Every rank does so for itself. Sums are added
// in fp32, in the order of the ranks, and rounded once. Returns a text about what does not match
// between two ranks' steps, or an empty text.
std::string receive_steps(const HostTeam& team, int rank);

}  // namespace tilepost
