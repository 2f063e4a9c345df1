// The verifier's one entry.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// Checks a finished plan without using the code that built it. Returns what is wrong, nothing if
// all of this holds:
//   - the tile table is a bijection: every tile of the product has one position and is stored once,
//     padding is not stored, and the inverse says so;
//   - groups are consecutive positions that store one contiguous block each, blocks follow each
//     other, and each ends where its cut says;
//   - a group's target is what the kernels that raise its counter post;
//   - what ranks exchange, followed step by step, reads only what is finished or announced, and
//     every rank ends with every element it is meant to have, each written once;
//   - division, access, transport, types, epilogue and consumer fit the pattern;
//   - GEMM, collectives and waiter each have SMs of their own, and a CTA fits on its SM.
std::vector<std::string> verify_plan(const Plan& plan);

}  // namespace tilepost
