// What the models of several transports have in common; microseconds throughout.
#pragma once

#include "generator/plan/transports/transports.h"

namespace tilepost {

inline constexpr double kMib = 1 << 20;

// ---- Collectives (collectives.cpp)

// One collective of the pattern's by NCCL on `comm.ctas` CTAs per rank, nothing beside it.
// `latency`: before each of them, part of its latency. Where ranks have nothing to exchange it
// takes no time.
CollectiveModel model_alone(const MachineProfile& profile, const Plan& plan);

// A schedule whose groups move by the collectives of `profiles`, `comm.lanes` of which overlap: the
// links are shared, and most of the latency of one hides behind the others.
TransferModel model_collectives(const TransferProblem& problem, const CollectiveProfiles& profiles);

// ---- Ranks that touch each other's memory (shared_memory.cpp)

// Whether ranks may be taken to share memory unasked.
bool may_share(const Plan& plan, const MachineProfile& profile);

// Refuses layouts and consumers of tiles: what is moved is whole rows.
void check_whole_rows(const Spec& spec, Diagnostics& diagnostics);

// Refuses architectures without TMA.
void check_tma(const Spec& spec, Diagnostics& diagnostics);

// "transport 'peer'", as the spec asks for it.
std::string quoted_transport(const Spec& spec);

// "transport is given here".
void note_transport(const Spec& spec, Diagnostics& diagnostics);

// Budgets: only sums and waits need SMs.
std::vector<CommChoice> choices_for_sums(const Plan& plan, const MachineProfile& profile);

// Of the bytes of a group, what a rank sends.
double sent_part(int ranks);

// Bringing a byte of a group to where it belongs, every rank at once, at so much for what it sends.
double per_byte(const TransferProblem& problem, double us_per_mib);

// The same by copy engines.
double copy_per_byte(const TransferProblem& problem);

// A byte of a group whose sums, or copies, kernels on the SMs that the GEMM leaves free do while it
// takes `transfers` to move. `passed_on`: bytes read and written for one of rows that are only
// passed on.
double with_sums(const TransferProblem& problem, double passed_on, double transfers);

// Takes out of a group's latency what its lanes hide, but for the last one's.
void hide_latency(const TransferProblem& problem, CollectiveModel& group);

// The whole GEMM beside pushes of all that the plan communicates, by helper warps or copy engines:
// tensor cores wait while L2 serves them. `us_per_mib`: of GEMM time for every MiB that a rank
// pushes, against ranks.
double computed_beside(const TransferProblem& problem, const std::vector<ProfilePoint>& us_per_mib);

}  // namespace tilepost
