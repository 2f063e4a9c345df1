// How the SMs are shared between the GEMM, the collective and the waiter.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/arch.h"
#include "generator/spec/spec.h"

namespace tilepost {

// The grid of the GEMM: the largest multiple of the cluster that leaves `comm_ctas` SMs to the
// collective and one to the waiter (none of them without overlap), no larger than the `wanted`
// CTAs that take all positions at once. Nothing is left where nothing is communicated beside it
// (`comm_ctas` 0). 0 if not even one cluster fits.
int gemm_grid(const ArchInfo& arch, int sms, int comm_ctas, bool overlap, int cluster,
              int ctas_per_sm, int64_t wanted);

// CTAs for the collectives and the lanes that share them.
struct CommChoice {
  int ctas, lanes;
};

// What to try for the collectives where the spec leaves it open: the CTA counts of the machine
// profile that leave the GEMM at least half the SMs, or a quarter of a smaller GPU; two lanes where
// each gets at least 8, and up to 40 CTAs then: a single ring is not faster with more than 24.
//
// Symmetric windows: 7 to 9 CTAs move what a ring needs twice as many for. Where ranks touch each
// other's memory only sums and waits need SMs: `sums` leaves 3 to 11, so that with the waiter's
// clusters of 2 fill what is left, and otherwise 1. Lanes there take no CTAs of their own.
std::vector<CommChoice> comm_choices(Arch arch, int sms, tilepost_transport_t transport, bool sums);

// The same where helper warps of the GEMM have tasks: it has all SMs, but for what announces to
// ranks that copy.
std::vector<CommChoice> choices_beside_tasks(bool announces);

// Whether every lane needs at least one of the CTAs: those of NCCL's communicators do.
inline bool lanes_take_ctas(tilepost_transport_t transport) {
  return !shares_memory(transport);
}

}  // namespace tilepost
