#include "generator/plan/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "generator/plan/report/spans.h"

namespace tilepost {
namespace {

constexpr int kColumns = 88;  // at most, beside the margin

// A round number times a power of ten, so that the axis is easy to read.
double round_step(double least) {
  double step = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0})
    if (factor * step >= least * (1 - 1e-9)) return factor * step;
  return 10 * step;
}

// The character of a group: 0 to 9, then a to z, then again from 0.
char letter(int group) {
  return "0123456789abcdefghijklmnopqrstuvwxyz"[group % 36];
}

class Axis {
 public:
  explicit Axis(double total) : column_(round_step(total / kColumns)) {}

  double column() const { return column_; }
  int at(double us) const { return static_cast<int>(std::lround(us / column_)); }

  // Fills [begin, end) of a lane, at least one column of it.
  void fill(std::string& lane, double begin, double end, char with) const {
    const size_t first = static_cast<size_t>(at(begin));
    const size_t last = std::max(static_cast<size_t>(at(end)), first + 1);
    if (lane.size() < last) lane.resize(last, ' ');
    std::fill(lane.begin() + first, lane.begin() + last, with);
  }

  // Labels every ten columns.
  std::string ruler(double total, size_t margin) const {
    std::string labels, ticks;
    const int end = at(total);
    for (int column = 0; column <= end + 9; column += 10) {
      const std::string label = fmt::format("{0:.0f}", column * column_);
      labels.resize(column, ' ');
      labels += label;
      ticks += column + 10 <= end + 9 ? "|---------" : "|";
    }
    return std::string(margin, ' ') + labels + "\n" + std::string(margin, ' ') + ticks + "\n";
  }

 private:
  double column_;  // us
};

std::string lane_line(const std::string& name, const std::string& lane, size_t margin) {
  std::string line = "  " + name;
  line.resize(margin, ' ');
  return line + lane + "\n";
}

// The lanes of a timeline, above each other.
std::string draw_lanes(const Timeline& timeline, const Axis& axis, size_t margin) {
  const auto lane_of = [&](const std::string& name, const std::vector<Span>& spans) {
    std::string lane;
    for (const Span& span : spans) axis.fill(lane, span.begin, span.end, letter(span.group));
    return lane_line(name, lane, margin);
  };
  std::string collectives;
  for (const std::vector<Span>& lane : timeline.lanes)
    collectives += lane_of(timeline.collective, lane);
  const std::string gemm = lane_of("GEMM", timeline.gemm);
  return timeline.comes_first ? collectives + gemm : gemm + collectives;
}

}  // namespace

std::string draw_timeline(const Plan& plan, const Measured* measured) {
  const std::optional<Timeline> timeline = timeline_of(plan);
  if (!timeline) return "";
  const double total = measured ? std::max(timeline->total, measured->total) : timeline->total;
  const Axis axis(total);
  const size_t margin = std::max<size_t>(13, 4 + timeline->collective.size());
  std::string text =
      fmt::format("timeline, {0:g} us a column, groups by their digit\n", axis.column());
  text += axis.ruler(total, margin);
  text += draw_lanes(*timeline, axis, margin);
  if (measured == nullptr) return text;
  text += fmt::format("measured on rank {}{}: {:.1f} us, {:.2f} times the predicted {:.1f} us\n",
                      measured->rank, measured->replayed ? ", replayed" : "", measured->total,
                      measured->total / timeline->total, timeline->total);
  return text + draw_lanes(timeline_of(plan, *measured), axis, margin);
}

}  // namespace tilepost
