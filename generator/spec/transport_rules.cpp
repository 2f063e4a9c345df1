#include "generator/spec/rules.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

std::string quoted(const Spec& spec) {
  const auto& transport = spec.transport.value;
  return "transport " + quote(transport ? name_of(*transport) : "auto");
}

void note_transport(const Spec& spec, Diagnostics& diagnostics) {
  diagnostics.note(spec.transport.where, "transport is given here");
}

// What has no communication cannot have it arranged.
void check_something_to_send(const Spec& spec, Diagnostics& diagnostics) {
  const std::optional<tilepost_transport_t> transport = spec.transport.value;
  if (communicates(spec.pattern.value) || !transport || transport == TILEPOST_TRANSPORT_NONE)
    return;
  diagnostics.error(spec.transport.where,
                    quoted(spec) +
                        " has nothing to send: pattern 'gemm' does not communicate; "
                        "use 'auto' or 'none'");
}

void check_rows(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.transport.value || !shares_memory(*spec.transport.value)) return;
  if (spec.schedule.layout.value == TILEPOST_TILE) {
    diagnostics.error(spec.schedule.layout.where,
                      quoted(spec) +
                          " moves whole rows between ranks, and schedule.layout 'tile' has none; "
                          "use layout 'panel' or transport 'nccl'");
    return note_transport(spec, diagnostics);
  }
  if (spec.consumer.value != TILEPOST_CONSUMER_UNPERMUTE) return;
  diagnostics.error(spec.consumer.where, "consumer 'unpermute' makes tiles row-major; " +
                                             quoted(spec) +
                                             " moves whole rows, so consumer must be 'none'");
  note_transport(spec, diagnostics);
}

void check_stores(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.pattern.value == TILEPOST_ALL_GATHER_GEMM && spec.schedule.comm_sms) {
    diagnostics.error(spec.schedule.comm_sms->where,
                      "schedule.comm_sms is not possible with pattern 'all_gather_gemm' and "
                      "transport 'peer', where helper warps of the GEMM store the rows of A and it "
                      "has all SMs; remove it or use copy_engine");
    note_transport(spec, diagnostics);
  }
  if (spec.routing.given() && spec.routing.value != TILEPOST_ROUTING_EVEN) {
    diagnostics.error(spec.routing.where,
                      "routing " + quote(name_of(spec.routing.value)) +
                          " is not possible with transport 'peer', whose kernel stores whole tiles "
                          "into one rank's memory; use copy_engine");
    note_transport(spec, diagnostics);
  }
  for (const Arch arch : spec.archs.value)
    if (arch != Arch::sm_90a && arch != Arch::host) {
      diagnostics.error(spec.transport.where,
                        std::string("transport 'peer' stores with TMA, which sm_90a has and ") +
                            name_of(arch) + " has not; use copy_engine or nccl");
      diagnostics.note(spec.archs.where, "arch is given here");
    }
}

// Other GPUs raise the counters, and a memory operation of the stream does not see that.
void check_wait(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.schedule.wait.value != TILEPOST_WAIT_STREAM) return;
  diagnostics.error(spec.schedule.wait.where,
                    "schedule.wait 'stream' is not possible with transport 'peer': other GPUs "
                    "raise the counters, which only a kernel waits for in order; use 'poll'");
  note_transport(spec, diagnostics);
}

void check_sum(const Spec& spec, Diagnostics& diagnostics) {
  const Located<std::optional<tilepost_sum_t>>& sum = spec.schedule.sum;
  if (!sum.value) return;
  const std::string asked = "schedule.sum " + quote(name_of(*sum.value));
  if (!reduces(spec.pattern.value)) {
    diagnostics.error(sum.where, asked + " has nothing to add up: pattern " +
                                     quote(name_of(spec.pattern.value)) +
                                     " sums over no ranks; remove schedule.sum");
    return diagnostics.note(spec.pattern.where, "pattern is given here");
  }
  if (spec.transport.value == TILEPOST_TRANSPORT_PEER) return;
  diagnostics.error(sum.where, asked +
                                   " is for transport 'peer', whose kernels store the parts of a "
                                   "sum where they are added up; got " +
                                   quoted(spec) + "; set transport 'peer' or remove schedule.sum");
}

}  // namespace

void check_transport(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.pattern.given()) return;
  check_something_to_send(spec, diagnostics);
  check_sum(spec, diagnostics);
  if (!communicates(spec.pattern.value)) return;
  check_rows(spec, diagnostics);
  if (spec.transport.value == TILEPOST_TRANSPORT_PEER) {
    check_stores(spec, diagnostics);
    check_wait(spec, diagnostics);
  }
}

}  // namespace tilepost
