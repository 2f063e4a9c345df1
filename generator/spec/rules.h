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

// What goes with the pattern: routing, layout, consumer, groups (pattern_rules.cpp).
void check_pattern(const Spec& spec, Diagnostics& diagnostics);

// What the transport can carry, and what only one of them does: each says it of itself
// (generator/plan/transports).
void check_transport(const Spec& spec, Diagnostics& diagnostics);

}  // namespace tilepost
