#include "generator/plan/choose/warnings.h"

#include <fmt/format.h>

#include <string>

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/transports/transports.h"
#include "generator/spec/rules/rules.h"
#include "runtime/map/run_path.h"

namespace tilepost {
namespace {

// ---- Slow kernels

// A spec that is padded so that rows start where kernels load fastest, and the words for the
// padding.
struct Padded {
  Spec spec;
  Place where;       // of the first field that changes
  std::string text;  // "gemm.k padded with zeros to 2056"
};

std::optional<Padded> pad(const Draft& draft) {
  const Plan& plan = draft.plan;
  const int64_t k = aligned(plan.k, plan.input), n = aligned(plan.map.n, plan.output);
  const bool pads_k = k != plan.k;
  const bool pads_n = n != plan.map.n && (plan.map.layout == TILEPOST_PANEL ||
                                          plan.operands == TILEPOST_NN || plan.epilogue != 0);
  if (!pads_k && !pads_n) return std::nullopt;
  Padded padded{draft.spec, {}, ""};
  const auto set = [&](Located<int64_t>& field, int64_t value, const char* how) {
    field.value = value;
    if (padded.text.empty()) padded.where = field.where;
    padded.text += fmt::format("{}{} {}", padded.text.empty() ? "" : " and ", how, value);
  };
  if (pads_k) set(padded.spec.gemm.k, k, "gemm.k padded with zeros to");
  if (pads_n) set(padded.spec.gemm.n, n, "gemm.n padded to");
  return padded;
}

// Why rows that are not aligned make the kernel slow.
std::string why_slow(const Plan& plan) {
  const std::string not_tma = why_not_preferred(plan);
  if (!not_tma.empty()) return fmt::format("{}; {} takes its place", not_tma, plan.kernel.name);
  return fmt::format(
      "{} moves fewer than 16 bytes at a time, for rows of operands or output are not aligned to "
      "them",
      plan.kernel.name);
}

void warn_of_slow_kernel(const Draft& draft,
                         const std::function<double(const Spec&)>& predicted_us) {
  constexpr double kSlow = 1.1;  // a smaller ratio is within the error of the model
  const Plan& plan = draft.plan;
  if (plan.arch == Arch::host) return;
  const std::optional<Padded> padded = pad(draft);
  if (!padded) return;
  const double now = plan.prediction.total, then = predicted_us(padded->spec);
  if (then > 0 && now < kSlow * then) return;
  const bool replaced = !why_not_preferred(plan).empty();
  if (then == 0 && !replaced) return;
  draft.diagnostics.warning(
      padded->where,
      fmt::format("slow kernel: {}; {:.0f} us predicted, {}with {}", why_slow(plan), now,
                  then > 0 ? fmt::format("{:.0f} us ", then) : "less ", padded->text));
}

// ---- Another machine's times

void warn_of_profile(const Draft& draft) {
  const Plan& plan = draft.plan;
  const MachineProfile& profile = draft.profile;
  const bool communicates = row_of(plan).communicates();
  if (plan.arch == Arch::host) return;
  constexpr const char* kAdvice = "check the choice with tilepost bench";
  if (plan.arch != profile.arch)
    draft.diagnostics.warning(
        draft.spec.archs.where,
        fmt::format(
            "no machine profile for {}: its GEMM is scaled from the tensor peak{}; {}",
            name_of(plan.arch),
            communicates ? ", its collectives are taken to be as on " + profile.words() : "",
            kAdvice));
  if (communicates && plan.ranks > profile.collectives.most_ranks)
    draft.diagnostics.warning(
        draft.spec.ranks.where,
        fmt::format("{} ranks are planned with times that were {} on up to {}, on {}; {}",
                    plan.ranks, profile.measured ? "measured" : "estimated",
                    profile.collectives.most_ranks, profile.words(), kAdvice));
}

// ---- Fields without effect

void no_effect(const Draft& draft, Place where, const char* path, const std::string& why) {
  draft.diagnostics.warning(where, fmt::format("{} has no effect on {}: {}; remove it", path,
                                               name_of(draft.plan.arch), why));
}

// Why groups are not waited for and sent by streams, "" if they are.
std::string why_no_streams(const Plan& plan) {
  if (!row_of(plan).communicates()) return "pattern 'gemm' does not communicate";
  if (!transport_of(plan.planned_transport).row.overlaps)
    return "nothing overlaps, the collective has the whole GPU";
  if (plan.arch == Arch::host) return "threads take the place of streams";
  const RunPath path = path_of(plan, true);
  if (path.sums_at_home) return "the kernel that sums tokens does what streams would";
  if (path.pushes_tokens) return "the kernel that lists tile rows does what streams would";
  if (path.kernel_does_all) return "helper warps of the GEMM do what streams would";
  if (path.waits == Waits::launches) return "launches of the GEMM follow the rows of A they need";
  return path.waits == Waits::tiles ? "the tiles themselves wait for the rows of A they need" : "";
}

void warn_of_fields(const Draft& draft) {
  const Plan& plan = draft.plan;
  const ScheduleSpec& schedule = draft.spec.schedule;
  const bool host = plan.arch == Arch::host;
  const std::string no_streams = why_no_streams(plan);
  if (schedule.comm_sms && plan.comm_ctas == 0)
    no_effect(draft, schedule.comm_sms->where, "schedule.comm_sms", no_streams);
  if (schedule.lanes && !no_streams.empty() && !row_of(plan).moves_input())
    no_effect(draft, schedule.lanes->where, "schedule.lanes", no_streams);
  if (schedule.wait.value && !no_streams.empty())
    no_effect(draft, schedule.wait.where, "schedule.wait", no_streams);
  if (host && schedule.stages)
    no_effect(draft, schedule.stages->where, "schedule.stages", "gemm_host has no pipeline");
  if (host && schedule.sum.value == TILEPOST_SUM_ADDED)
    no_effect(draft, schedule.sum.where, "schedule.sum",
              "gemm_host stores the ranks' parts side by side");
  if (draft.spec.neighbours.value && !row_of(plan).communicates())
    no_effect(draft, draft.spec.neighbours.where, "neighbours", no_streams);
  if (draft.spec.registered.value && !paths_of(plan).planned.lends_out)
    no_effect(draft, draft.spec.registered.where, "registered",
              "ranks store nothing in each other's outputs");
  if (schedule.kernels && schedule.kernels->value > 1 && !why_one_kernel(draft.spec).empty())
    no_effect(draft, schedule.kernels->where, "schedule.kernels", why_one_kernel(draft.spec));
  const Located<tilepost_accumulate_t>& accumulate = draft.spec.gemm.accumulate;
  if (accumulate.given() && !row_of(plan.input).sums_short())
    no_effect(draft, accumulate.where, "gemm.accumulate",
              fmt::format("sums of {} are always kept in fp32", name_of(plan.input)));
  else if (accumulate.given() && host && accumulate.value == TILEPOST_FAST)
    no_effect(draft, accumulate.where, "gemm.accumulate", "gemm_host sums in fp32");
}

}  // namespace

void warn_of_plan(const Draft& draft, const std::function<double(const Spec&)>& predicted_us) {
  warn_of_slow_kernel(draft, predicted_us);
  warn_of_profile(draft);
  warn_of_fields(draft);
}

}  // namespace tilepost
