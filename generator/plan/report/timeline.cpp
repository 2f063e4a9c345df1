#include "generator/plan/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/map/patterns.h"

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

// Groups 0 to 9 and a to z, then again.
char letter(size_t group) {
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

// The collective's name in one word.
const char* collective_of(const Plan& plan) {
  return row_of(plan).routes() ? "AllToAll" : row_of(plan).collective;
}

std::string lane_line(const char* name, const std::string& lane, size_t margin) {
  std::string line = std::string("  ") + name;
  line.resize(margin, ' ');
  return line + lane + "\n";
}

}  // namespace

std::string draw_timeline(const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  if (prediction.group_ready.empty() || prediction.total <= 0) return "";
  const Axis axis(prediction.total);
  std::string gemm;
  std::vector<std::string> lanes(row_of(plan).communicates() ? plan.comm_lanes : 0);
  const bool comes_first = row_of(plan).moves_input();
  double before = 0;
  for (size_t g = 0; g < prediction.group_ready.size(); ++g) {
    if (comes_first) before = std::max(before, prediction.collective_end[g]);
    if (plan.tile_map().groups[g].num_tiles > 0)
      axis.fill(gemm, before, prediction.group_ready[g], letter(g));
    before = prediction.group_ready[g];
    if (prediction.collective_end[g] > prediction.collective_start[g])
      axis.fill(lanes[g % lanes.size()], prediction.collective_start[g],
                prediction.collective_end[g], letter(g));
  }
  std::string text =
      fmt::format("timeline, {0:g} us a column, groups by their digit\n", axis.column());
  const size_t margin = std::max<size_t>(13, 4 + std::strlen(collective_of(plan)));
  std::string collectives;
  for (const std::string& lane : lanes) collectives += lane_line(collective_of(plan), lane, margin);
  text += axis.ruler(prediction.total, margin);
  gemm = lane_line("GEMM", gemm, margin);
  text += comes_first ? collectives + gemm : gemm + collectives;
  return text;
}

}  // namespace tilepost
