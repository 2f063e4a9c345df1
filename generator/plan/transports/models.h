// What the models of several transports have in common; microseconds throughout.
#pragma once

#include "generator/plan/transports/transports.h"

namespace tilepost {

inline constexpr double kMib = 1 << 20;

// ---- Collectives (collectives.cpp)

// The pattern's collective over the whole problem by NCCL, on the CTAs that NCCL takes when it may
// choose (CollectivesProfile::default_ctas) and with nothing beside it. With rows of A it includes
// the copy of the own rows. Where ranks have nothing to exchange it takes no time.
CollectiveModel model_alone(const MachineProfile& profile, const Plan& plan);

// The model of a schedule whose groups move by the collectives of `profiles`. `comm.lanes` of them
// overlap: they share the links, and most of the latency of one hides behind the others.
TransferModel model_collectives(const TransferProblem& problem, const CollectiveProfiles& profiles);

// ---- Ranks that touch each other's memory (shared_memory.cpp)

// Whether the planner may take ranks to share memory where the spec does not ask for it.
bool may_share(const Plan& plan, const MachineProfile& profile);

// Refuses layouts and consumers of tiles, because these transports move whole rows.
void check_whole_rows(const Spec& spec, Diagnostics& diagnostics);

// Refuses a rank alone on a GPU, which has no other memory to reach. On the host target a rank may
// be alone. The spec need not name the transport.
void check_partners(const Spec& spec, tilepost_transport_t transport, Diagnostics& diagnostics);

// Refuses architectures without TMA.
void check_tma(const Spec& spec, Diagnostics& diagnostics);

// "transport 'peer'", as the spec asks for it.
std::string quoted_transport(const Spec& spec);

// "transport is given here".
void note_transport(const Spec& spec, Diagnostics& diagnostics);

// The CTA counts and lanes to try where only sums and waits need SMs.
std::vector<CommChoice> choices_for_sums(const Plan& plan, const MachineProfile& profile);

// The part of a group's bytes that a rank sends.
double sent_part(int ranks);

// Time to bring one byte of a group to where it belongs, while every rank does the same, if every
// MiB that a rank sends takes `us_per_mib`.
double per_byte(const TransferProblem& problem, double us_per_mib);

// As per_byte(), where copy engines bring the byte.
double copy_per_byte(const TransferProblem& problem);

// Time for one byte of a group. Moving it between ranks takes `transfers`, and kernels on the SMs
// that the GEMM leaves free add up or copy it. `passed_on`: bytes that are read and written for one
// byte of rows that are only passed on.
double with_sums(const TransferProblem& problem, double passed_on, double transfers);

// Time for one byte of a group of the product, on the whole: `alone` when the GEMM has ended, and
// `slower` times that beside the GEMM, from the first group on.
double partly_beside(const TransferProblem& problem, double alone, double slower);

// Moves the time that other lanes hide from a group's latency to the group's tail, since nothing
// hides it for the last group.
void hide_latency(const TransferProblem& problem, CollectiveModel& group);

// Time of the whole GEMM while helper warps or copy engines push all that the plan communicates:
// tensor cores wait while L2 serves the pushes. `us_per_mib`: by how much the GEMM takes longer for
// every MiB that a rank pushes, against the number of ranks.
double computed_beside(const TransferProblem& problem, const std::vector<ProfilePoint>& us_per_mib);

}  // namespace tilepost
