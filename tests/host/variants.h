// All variants of problems on the host target: every pattern with its layouts, consumers,
// transports, routings and accesses.
#pragma once

#include <string>
#include <vector>

#include "tests/host/pattern.h"

struct Variant {
  tilepost_pattern_t pattern;
  tilepost_layout_t layout = TILEPOST_PANEL;
  tilepost_consumer_t consumer = TILEPOST_CONSUMER_NONE;
  tilepost_transport_t transport = TILEPOST_TRANSPORT_HOST;
  tilepost_routing_t routing = TILEPOST_ROUTING_EVEN;
  tilepost_access_t access = TILEPOST_ACCESS_MESSAGES;
  bool pushes = false;
  bool neighbours = false;
  tilepost_shots_t shots = TILEPOST_SHOTS_NONE;
};

// All possible combinations, without gemm and without gemm_all_reduce that leaves slots
// (tests/host/test_op.cpp).
std::vector<Variant> all_variants();

// A problem of the variant. `seed` chooses its type, cluster, groups and stagger.
Problem make(const Variant& variant, int ranks, uint64_t seed);

// Bounds how many routed rows of A a rank receives: by what a rank sends, by a few rows more, or by
// the rows of all ranks. Plans for any m may have a third of what a rank sends as their bound. Then
// some rows must stay where they are.
void bound_received(Problem& problem, uint64_t seed);

std::string describe(const Problem& problem);

constexpr Spread kSpreads[] = {Spread::random, Spread::all_to_one, Spread::some_empty};
