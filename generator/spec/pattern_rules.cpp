#include "generator/spec/rules.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

void note_pattern(const Spec& spec, Diagnostics& diagnostics) {
  diagnostics.note(spec.pattern.where, "pattern is given here");
}

void check_routing(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.routing.given() || spec.pattern.value == TILEPOST_GEMM_ALL_TO_ALL) return;
  diagnostics.error(spec.routing.where,
                    "routing " + quote(name_of(spec.routing.value)) +
                        " is for pattern 'gemm_all_to_all', which sends rows to chosen ranks; got "
                        "pattern " +
                        quote(name_of(spec.pattern.value)) + "; remove routing");
  note_pattern(spec, diagnostics);
}

void check_layout(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.pattern.value != TILEPOST_ALL_GATHER_GEMM || spec.schedule.layout.value != TILEPOST_TILE)
    return;
  diagnostics.error(spec.schedule.layout.where,
                    "schedule.layout 'tile' is not possible with pattern 'all_gather_gemm': "
                    "nothing is sent after its GEMM, so its output is row-major already; use "
                    "'panel' or 'auto'");
}

// The slots of a run with another m are in a table of its own, and op_info has the planned m's.
void check_slots(const Spec& spec, Diagnostics& diagnostics) {
  const bool in_slots =
      spec.pattern.value == TILEPOST_GEMM || spec.pattern.value == TILEPOST_GEMM_ALL_REDUCE;
  if (!in_slots || !spec.gemm.any_m || spec.schedule.layout.value != TILEPOST_TILE ||
      spec.consumer.value != TILEPOST_CONSUMER_NONE)
    return;
  diagnostics.error(spec.schedule.layout.where,
                    "schedule.layout 'tile' with '{max: " + llvm::Twine(spec.gemm.m.value) +
                        "}' needs a consumer: the output of pattern " +
                        quote(name_of(spec.pattern.value)) +
                        " would stay in slots, and callers can look up those of " +
                        llvm::Twine(spec.gemm.m.value) +
                        " rows only; use consumer 'unpermute' or schedule.layout 'panel'");
  diagnostics.note(spec.gemm.m.where, "gemm.m is given here");
}

void check_lanes(const Spec& spec, Diagnostics& diagnostics) {
  const auto& lanes = spec.schedule.lanes;
  if (spec.pattern.value != TILEPOST_ALL_GATHER_GEMM || !lanes || lanes->value == 1) return;
  diagnostics.error(lanes->where,
                    "schedule.lanes must be 1 with pattern 'all_gather_gemm'; got '" +
                        llvm::Twine(lanes->value) +
                        "', but its tiles count on the chunks arriving one after the other");
}

void check_unpermute(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.pattern.value == TILEPOST_ALL_GATHER_GEMM) {
    diagnostics.error(spec.consumer.where,
                      "consumer 'unpermute' makes tiles row-major; the output of pattern "
                      "'all_gather_gemm' is row-major already, so consumer must be 'none'");
    return note_pattern(spec, diagnostics);
  }
  if (spec.schedule.layout.value != TILEPOST_PANEL) return;
  diagnostics.error(spec.consumer.where,
                    "consumer 'unpermute' needs schedule.layout 'tile'; the output of layout "
                    "'panel' is row-major already, so consumer must be 'none'");
  diagnostics.note(spec.schedule.layout.where, "schedule.layout is given here");
}

void check_norm(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.pattern.value != TILEPOST_GEMM_ALL_TO_ALL &&
      spec.pattern.value != TILEPOST_ALL_GATHER_GEMM)
    return;
  diagnostics.error(spec.consumer.where,
                    "consumer " + quote(name_of(spec.consumer.value)) +
                        " is for patterns gemm, gemm_all_reduce and gemm_reduce_scatter; got " +
                        quote(name_of(spec.pattern.value)) +
                        ", whose output another operation has to normalise");
  note_pattern(spec, diagnostics);
}

void check_consumer(const Spec& spec, Diagnostics& diagnostics) {
  switch (spec.consumer.value) {
    case TILEPOST_CONSUMER_NONE:
      return;
    case TILEPOST_CONSUMER_UNPERMUTE:
      return check_unpermute(spec, diagnostics);
    case TILEPOST_CONSUMER_RMS_NORM:
    case TILEPOST_CONSUMER_RESIDUAL_RMS_NORM:
      return check_norm(spec, diagnostics);
  }
}

// Groups are counted in waves, and every m has its own.
void check_groups(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.gemm.any_m || !spec.schedule.groups) return;
  diagnostics.error(spec.schedule.groups->where,
                    "schedule.groups is for one m; with '{max: " + llvm::Twine(spec.gemm.m.value) +
                        "}' every run chooses the groups for its own m; remove schedule.groups");
  diagnostics.note(spec.gemm.m.where, "gemm.m is given here");
}

// What has no communication cannot have it in groups. A budget for it is left unused.
void check_nothing_sent(const Spec& spec, Diagnostics& diagnostics) {
  if (communicates(spec.pattern.value)) return;
  const auto& groups = spec.schedule.groups;
  if (groups && groups->value.size() > 1)
    diagnostics.error(groups->where,
                      llvm::Twine(groups->value.size()) +
                          " groups, but pattern 'gemm' sends nothing; remove schedule.groups");
}

}  // namespace

void check_pattern(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.pattern.given()) {
    check_routing(spec, diagnostics);
    check_layout(spec, diagnostics);
    check_slots(spec, diagnostics);
    check_lanes(spec, diagnostics);
  }
  check_consumer(spec, diagnostics);
  check_groups(spec, diagnostics);
  check_nothing_sent(spec, diagnostics);
}

}  // namespace tilepost
