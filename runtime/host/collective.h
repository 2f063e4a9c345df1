// The in-process collectives: what one rank does for the steps of a group, once all ranks have
// brought their buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/map/steps.h"
#include "tilepost/plan.h"

namespace tilepost {

// What a rank brings to a group's steps; the others read its memory and, for an all_reduce, write
// it.
struct HostBuffers {
  void* send;                   // elements of the output's type
  void* received;               // the same; what steps receive goes here
  const void* a;                // this rank's rows of A
  void* gathered;               // all ranks' rows of A
  std::span<const Step> steps;  // of this group; not where ranks share memory
};

// What needs no other rank and must be done before they look: own_rows. `input_bytes`: per element
// of A.
void copy_own_rows(const HostBuffers& own, int input_bytes);

// Where the ranks' steps are.
struct HostTeam {
  tilepost_dtype_t output;
  int input_bytes;  // per element of A
  int ranks;
  const HostBuffers* const* buffers;  // [ranks]
};

// Carries out what the group's steps bring to `rank`; every rank does so for itself. Sums are in
// fp32, in the order of the ranks, and rounded once. Returns what does not match between two ranks'
// steps, or nothing.
std::string receive_steps(const HostTeam& team, int rank);

}  // namespace tilepost
