// Rules between fields: what no single row of the table can say.
#pragma once

#include "generator/diagnostics.h"
#include "generator/spec/spec.h"

namespace tilepost {

// Products of two of m, n, k stay below this many elements, so that no offset in bytes, padding
// included, comes near 2^63 and no tile index leaves 32 bits.
inline constexpr int64_t kMaxElements = int64_t{1} << 46;

// Fills the defaults that follow another field (gemm.b and gemm.out are as gemm.a) and reports
// every contradiction. Fields that were refused are absent and cause no further error.
void apply_rules(Spec& spec, Diagnostics& diagnostics);

// The rules of gemm.epilogue: its order, what excludes what, and what may come before a sum over
// ranks (epilogue_rules.cpp).
void check_epilogue(const Spec& spec, Diagnostics& diagnostics);

// Why runs of the spec cannot be served by several kernels, each those of a range of m; "" if they
// can.
std::string why_one_kernel(const Spec& spec);

// The most rows that a rank multiplies: gemm.m, but where rows of A are routed what a rank
// receives.
int64_t most_multiplied(const Spec& spec);

// Reports a product of two extents that is too large for what follows.
void check_product(const Located<int64_t>& x, const Located<int64_t>& y, const char* what,
                   Diagnostics& diagnostics);

// What goes with the pattern: routing, what ranks receive, layout, consumer, groups
// (pattern_rules.cpp).
void check_pattern(const Spec& spec, Diagnostics& diagnostics);

// What goes with a kernel of the user's own, and whether its numbers are some of a kernel's
// (kernel_rules.cpp).
void check_kernel(const Spec& spec, Diagnostics& diagnostics);

// What the transport can carry, and what only one of them does: each says it of itself
// (generator/plan/transports).
void check_transport(const Spec& spec, Diagnostics& diagnostics);

}  // namespace tilepost
