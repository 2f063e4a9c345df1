// Rules between fields: what no single row of the table can say.
#pragma once

#include "generator/diagnostics.h"
#include "generator/spec/spec.h"

namespace tilepost {

// Products of two of m, n, k stay below this many elements, so that no offset in bytes, padding
// included, comes near 2^63 and no tile index leaves 32 bits.
inline constexpr int64_t kMaxElements = int64_t{1} << 46;

// Fills in defaults that follow from another field (gemm.b and gemm.out from gemm.a) and reports
// every contradiction. Fields that were refused are absent and cause no further error.
void apply_rules(Spec& spec, Diagnostics& diagnostics);

// The rules of gemm.epilogue: its order, what excludes what, and what may come before a sum over
// ranks (epilogue_rules.cpp).
void check_epilogue(const Spec& spec, Diagnostics& diagnostics);

// The rules of gemm.experts and gemm.gate, and what experts rule out (expert_rules.cpp).
void check_experts(const Spec& spec, Diagnostics& diagnostics);
// The rules of patterns by which tokens go to experts, and of their fields (dispatch_rules.cpp).
void check_dispatch(const Spec& spec, Diagnostics& diagnostics);
// Checks what a layer of experts rules out. If nothing is wrong, moves what is the second half's
// from the fields of the spec to Spec::layer (layer_rules.cpp). Requires Spec::layer.
void check_layer(Spec& spec, Diagnostics& diagnostics);

// Checks what scales of blocks go with (scales_rules.cpp).
void check_scales(const Spec& spec, Diagnostics& diagnostics);

// Checks what an output of 8 bits goes with (quantised_rules.cpp).
void check_quantised(const Spec& spec, Diagnostics& diagnostics);

// Why the spec's runs cannot have several kernels, each for a range of m; "" if they can.
std::string why_one_kernel(const Spec& spec);

// The most rows that a rank multiplies: gemm.m, or the rows that a rank receives if rows of A are
// routed.
int64_t most_multiplied(const Spec& spec);

// Reports a product of two extents that is not below kMaxElements. `what` names the product.
void check_product(const Located<int64_t>& x, const Located<int64_t>& y, const char* what,
                   Diagnostics& diagnostics);

// Checks what depends on the pattern: routing, received rows, layout, consumer, groups
// (pattern_rules.cpp).
void check_pattern(const Spec& spec, Diagnostics& diagnostics);

// Checks what is possible with a kernel of the user's own, and whether its numbers can be those of
// a kernel (kernel_rules.cpp).
void check_kernel(const Spec& spec, Diagnostics& diagnostics);

// Checks what the transport can carry, and fields that only some transports use. Each transport has
// rules of its own (generator/plan/transports).
void check_transport(const Spec& spec, Diagnostics& diagnostics);

}  // namespace tilepost
