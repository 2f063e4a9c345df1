// Which transports may carry the groups of a draft.
#pragma once

#include <vector>

#include "generator/plan/draft.h"

namespace tilepost {

// The most ranks that are taken to be GPUs of one host, which reach each other's memory.
inline constexpr int kMostOnOneHost = 8;

// The one the spec asks for. Where it leaves that open, those that the pattern, the layout and the
// architecture allow, in order of preference: NCCL's collectives, which run everywhere, then those
// that need peer access between all ranks, on machines whose times are known. Not nccl_symmetric,
// whose windows have to be asked for. None where nothing is sent beside the GEMM.
std::vector<tilepost_transport_t> transports_to_try(const Draft& draft);

// "needs peer access …": what a transport asks of the machine that a plan cannot know; "" for the
// others.
const char* needs_text(tilepost_transport_t transport);

}  // namespace tilepost
