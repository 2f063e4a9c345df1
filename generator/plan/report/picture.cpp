#include "generator/plan/report/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/report/describe.h"
#include "generator/plan/report/picture_parts.h"
#include "generator/plan/transports/transports.h"
#include "generator/spec/names.h"
#include "runtime/map/patterns.h"
#include "runtime/map/quantised.h"

namespace tilepost {
namespace {

constexpr double kBody = 13, kLine = 19;
constexpr double kSlowed =
    1.05;  // of its time alone: from here on the text says why a GEMM takes longer

std::string title_of(const Plan& plan) {
  return fmt::format("{0}: {1} on {2}", plan.name, name_of(plan.pattern), name_of(plan.arch));
}

std::string problem_of(const Plan& plan) {
  std::string text = describe_product(plan, "C") + ", " + name_of(plan.input);
  if (plan.input != plan.output || plan.quantised)
    text +=
        fmt::format(" summed {0}, {1} out", name_of(plan.accumulate), name_of(type_of_out(plan)));
  return text;
}

// Why the GEMM takes longer beside communication than alone; "" where it hardly does.
std::string slowed_by(const Plan& plan, const Timeline& timeline) {
  const double alone = timeline.sequence_gemm.length();
  if (alone <= 0 || timeline.gemm_us < kSlowed * alone) return "";
  const int left = plan.sms - plan.gemm_ctas;
  const std::string cause = left > 0
                                ? fmt::format("it leaves {} of {} SMs to the rest", left, plan.sms)
                                : std::string("the transfers slow it down");
  return fmt::format(" ({:.0f} us alone; {})", alone, cause);
}

// What a measured run took beside what was planned.
std::string measured_times(const Plan& plan, const Timeline& planned, const Measured& measured) {
  const Timeline run = timeline_of(plan, measured);
  std::string text = fmt::format(
      "Measured on rank {}: {:.0f} us in all, of which {:.0f} us are exposed. Planned: {:.0f} us, "
      "of "
      "which {:.0f} us are exposed.",
      measured.rank, run.total, run.exposed_us, planned.total, planned.exposed_us);
  if (planned.overlaps && planned.sequence > 0)
    text += fmt::format(
        " In sequence ({}) {:.0f} us are predicted: the measured run is {:.2f}x as fast.",
        sequence_text(plan.pattern), planned.sequence, planned.sequence / run.total);
  return text;
}

// What the picture says of the planned times, in words.
std::string times_of(const Plan& plan, const Timeline& timeline) {
  if (timeline.lanes.empty())
    return fmt::format("The matrix product (GEMM) takes {:.0f} us. Nothing is sent.",
                       timeline.gemm_us);
  const std::string collective = "the collective (" + timeline.collective + ")";
  if (!timeline.overlaps)
    return fmt::format(
        "{:.0f} us in all: {:.0f} us for the matrix product (GEMM) and {:.0f} us for {}. Nothing "
        "overlaps: all of it is exposed.",
        timeline.total, timeline.gemm_us, timeline.exposed_us, collective);
  std::string text = fmt::format(
      "{:.0f} us in all: the matrix product (GEMM) takes {:.0f} us{}, and {:.0f} us of {} are "
      "exposed. The rest is hidden behind the GEMM.",
      timeline.total, timeline.gemm_us, slowed_by(plan, timeline), timeline.exposed_us, collective);
  if (timeline.sequence > 0)
    text += fmt::format(
        " In sequence ({}) it would take {:.0f} us: with overlap it is {:.2f}x as fast.",
        sequence_text(plan.pattern), timeline.sequence, timeline.sequence / timeline.total);
  return text;
}

std::string profile_of(const Plan& plan, const Measured* measured) {
  const std::string which = measured == nullptr ? "All times are predictions."
                                                : "What is not called measured is predicted.";
  return which + " Machine profile: " + plan.profile + ". Point at a bar to read its numbers.";
}

// What the picture does not show, and how to see it.
std::string rest_of(const std::vector<Plan>& plans) {
  const Plan& plan = plans.front();
  std::string text;
  if (plan.any_m) text = fmt::format("A run with m = {} is shown. ", rows_of_runs(plan));
  if (plan.half != Half::none)
    text += fmt::format("This is the first half of '{}'; the text has both.", plan.name);
  else if (plans.size() > 1)
    text +=
        fmt::format("This is the first of {} plans. --arch and -D gemm.m=... choose what is shown.",
                    plans.size());
  return text;
}

}  // namespace

std::string draw_picture(const std::vector<Plan>& plans, const Measured* measured) {
  const Plan& plan = plans.front();
  const std::optional<Timeline> timeline = timeline_of(plan);
  Svg svg(kPictureWidth);
  double y = 42;
  svg.text(kPictureMargin, y, "title", title_of(plan));
  y += 6;
  const auto paragraph = [&](const char* style, const std::string& text) {
    for (const std::string& line : lines_within(text, kBody, kPictureWidth - 2 * kPictureMargin))
      svg.text(kPictureMargin, y += kLine, style, line);
  };
  const std::string times = !timeline
                                ? "No times are predicted: the host target is for correctness, "
                                  "not for speed."
                            : measured ? measured_times(plan, *timeline, *measured)
                                       : times_of(plan, *timeline);
  paragraph("body", problem_of(plan));
  paragraph("body", times);
  if (timeline) paragraph("soft", profile_of(plan, measured));
  paragraph("soft", rest_of(plans));
  y += 28;
  if (timeline) y = draw_times(svg, plan, *timeline, measured, y) + 34;
  const double legend = draw_legend(svg, plan, timeline ? &*timeline : nullptr, y);
  y = std::max(legend, draw_tiles(svg, plan, y));
  return svg.finish(y + kPictureMargin, title_of(plan), times);
}

}  // namespace tilepost
