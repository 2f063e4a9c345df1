// A layer of experts, pattern 'moe': one spec of two operations. The first half,
// dispatch_grouped_gemm, multiplies tokens, and the second, grouped_gemm_combine, takes what has
// come of them. Every stage behind the reader plans and checks the halves as it does operations
// that stand alone.
#pragma once

#include <string_view>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/spec/spec.h"

namespace tilepost {

// The spec's pattern as its author wrote it, for messages: "moe" for a layer and its halves.
std::string_view pattern_name(const Spec& spec);

// Says that errors before it are of the second half.
void note_second_half(const Spec& spec, Diagnostics& diagnostics);

// The operations of a spec: the two halves of a layer, or the spec itself.
std::vector<Spec> operations_of(const Spec& spec);

}  // namespace tilepost
