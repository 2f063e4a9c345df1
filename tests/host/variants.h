// What there is to choose from: every pattern with its layouts, consumers, transports, routings and
// accesses, as problems of the host target.
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

// Everything that can be put together, but for gemm and gemm_all_reduce that leave slots
// (tests/host/test_op.cpp).
std::vector<Variant> all_variants();

// The rest of it by the seed: type, cluster, groups, stagger.
Problem make(const Variant& variant, int ranks, uint64_t seed);

// Bounds how many routed rows of A a rank receives: sometimes no more than a rank sends, or a few
// more, or those of all ranks. With fewer than it sends, some rows must stay where they are.
void bound_received(Problem& problem, uint64_t seed);

std::string describe(const Problem& problem);

constexpr Spread kSpreads[] = {Spread::random, Spread::all_to_one, Spread::some_empty};
