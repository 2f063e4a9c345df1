#include "generator/plan/report/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/report/describe.h"
#include "generator/plan/report/picture_parts.h"
#include "generator/plan/transports/transports.h"
#include "generator/spec/names.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

constexpr double kBody = 13, kLine = 19;

std::string title_of(const Plan& plan) {
  return fmt::format("{0}: {1} on {2}", plan.name, name_of(plan.pattern), name_of(plan.arch));
}

std::string problem_of(const Plan& plan) {
  std::string text = describe_product(plan, "C") + ", " + name_of(plan.input);
  if (plan.input != plan.output)
    text += fmt::format(" summed {0}, {1} out", name_of(plan.accumulate), name_of(plan.output));
  return text;
}

// What the picture says of the times, in words.
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
      "{:.0f} us in all: the matrix product (GEMM) takes {:.0f} us, and {:.0f} us of {} are "
      "exposed. The rest is hidden behind the GEMM.",
      timeline.total, timeline.gemm_us, timeline.exposed_us, collective);
  if (timeline.sequence > 0)
    text += fmt::format(
        " In sequence ({}) it would take {:.0f} us: with overlap it is {:.2f}x as fast.",
        sequence_text(plan.pattern), timeline.sequence, timeline.sequence / timeline.total);
  return text;
}

std::string profile_of(const Plan& plan, const Measured* measured) {
  const std::string which = measured == nullptr
                                ? "All times are predictions."
                                : "All times but those as measured are predictions.";
  return which + " Machine profile: " + plan.profile + ". Point at a bar to read its numbers.";
}

// What the picture does not show, and how to see it.
std::string rest_of(const std::vector<Plan>& plans) {
  const Plan& plan = plans.front();
  std::string text;
  if (plan.any_m) text = fmt::format("A run with m = {} is shown. ", rows_of_runs(plan));
  if (plans.size() > 1)
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
  const std::string times = timeline ? times_of(plan, *timeline)
                                     : "No times are predicted: the host target is for "
                                       "correctness, not for speed.";
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
