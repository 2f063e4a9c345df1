// The picture of a measurement. It takes the same numbers as the table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "generator/bench/report.h"
#include "generator/plan/report/svg.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {
namespace {

constexpr double kWidth = 1200, kMargin = 30, kRight = 1090;
constexpr double kLine = 19, kRow = 34, kBar = 16, kLabel = 12;
constexpr double kWidestLabel = 420;
constexpr size_t kMostBars = 200;    // of a chart
constexpr int64_t kFewRows = 2048;   // up to so many there is a mode "graph" (runtime/bench)
constexpr double kTimeHeight = 220;  // of a chart of times

struct Mode {
  const char* name;
  const RatioKind& kind;
  const char* title;
};
constexpr Mode kModes[] = {
    {"overlap", kRatioKinds[3], "The whole operation, one run at a time"},
    {"steady", kRatioKinds[3], "The whole operation, runs back to back"},
    {"graph", kRatioKinds[3], "The whole operation, in a CUDA graph"},
    {"cool", kRatioKinds[0], "The GEMM alone, on a cool chip, against cuBLASLt"},
    {"sustained", kRatioKinds[0], "The GEMM alone, at the power cap, against cuBLASLt"}};
// Where small numbers of rows are compared, the first of these modes that was measured.
constexpr const char* kModesOfTimes[] = {"graph", "overlap", "cool", "sustained"};

struct Point {
  std::string name, shape, spec;  // spec: what points of one line share
  int64_t rows = 0;
  double us = 0, reference_us = 0;
  Summary ratio;
  std::optional<double> limit;  // the ratio that no way could exceed
};

double median_of(const ModeSamples& samples, const char* variant) {
  const auto found = samples.us.find(variant);
  return found == samples.us.end() ? 0 : summarise(found->second).median;
}

std::vector<Point> points_of(const Mode& mode, const std::vector<HarnessProgram>& programs,
                             const BenchLog& log) {
  std::vector<Point> points;
  for (const HarnessProgram& program : programs) {
    const ProgramSamples& samples = log.of(program.name);
    const ModeSamples* const of_mode = samples.mode(mode.name);
    if (!samples.ok() || of_mode == nullptr) continue;
    const std::vector<double> ratios = ratios_of(*of_mode, mode.kind);
    if (ratios.empty()) continue;
    const Plan& plan = program.plans.front();
    const std::string varied = program.varied.empty() ? "" : ", " + program.varied;
    Point point;
    point.name = program.name;
    point.rows = rows_of_runs(plan);
    point.shape = fmt::format("{}x{}x{}{}", point.rows, plan.map.n, plan.k, varied);
    point.spec = fmt::format("{}: n = {}, k = {}, {} rank{}{}", program.spec_name, plan.map.n,
                             plan.k, plan.ranks, plan.ranks == 1 ? "" : "s", varied);
    point.us = median_of(*of_mode, mode.kind.faster);
    point.reference_us = median_of(*of_mode, mode.kind.than);
    point.ratio = summarise(ratios);
    if (const auto limit = limit_us(plan, *of_mode); limit && *limit > 0)
      point.limit = point.reference_us / *limit;
    points.push_back(std::move(point));
  }
  return points;
}

// What fits into the width, with dots for what does not.
std::string fitted(const std::string& text, double width) {
  const auto most = static_cast<size_t>(width / text_width("x", kLabel));
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

class Picture {
 public:
  Picture() : svg_(kWidth) {}

  void title(const std::string& text) {
    svg_.text(kMargin, y_ += 42, "title", text);
    y_ += 6;
  }
  void paragraph(const char* style, const std::string& text) {
    for (const std::string& line : lines_within(text, 13, kWidth - 2 * kMargin))
      svg_.text(kMargin, y_ += kLine, style, line);
  }
  void head(const std::string& text) { svg_.text(kMargin, y_ += 44, "head", text); }
  void legend(bool limits);
  void ratios(std::vector<Point> points);
  void times(const std::string& title, const std::vector<Point>& points);

  std::string finish(const std::string& title, const std::string& text) {
    return svg_.finish(y_ + kMargin, title, text);
  }

 private:
  Svg svg_;
  double y_ = 0;
};

void Picture::legend(bool limits) {
  double x = kMargin;
  const double middle = (y_ += 30) - 4;
  const auto word = [&](const char* text) {
    svg_.text(x + 30, y_, "label", text);
    x += 60 + text_width(text, kLabel);
  };
  svg_.rect(x, middle - 6, 22, 12, "exposed");
  word("median of all rounds");
  svg_.line(x, middle, x + 22, middle, "frame");
  svg_.line(x, middle - 5, x, middle + 5, "frame");
  svg_.line(x + 22, middle - 5, x + 22, middle + 5, "frame");
  word("from the first to the third quartile: half of the rounds are in it");
  if (!limits) return;
  svg_.line(x + 11, middle - 8, x + 11, middle + 8, "mark");
  word("limit");
}

// A bar for each point, from 0 to its ratio.
void Picture::ratios(std::vector<Point> points) {
  const size_t all = points.size();
  points.resize(std::min(all, kMostBars));
  double most = 1, label = 100;
  for (const Point& point : points) {
    most = std::max({most, point.ratio.p75, point.limit.value_or(0)});
    label = std::max({label, text_width(point.name, kLabel), text_width(point.shape, kLabel)});
  }
  label = std::min(label, kWidestLabel);
  const double left = kMargin + label + 12, per_unit = (kRight - left) / (1.05 * most);
  const double top = y_ + 14, bottom = top + kRow * static_cast<double>(points.size());
  const auto x = [&](double ratio) { return left + ratio * per_unit; };
  const double step = round_step(most, 8);
  for (int i = 0; i * step <= 1.05 * most; ++i) {
    svg_.line(x(i * step), top, x(i * step), bottom, "grid");
    svg_.text(x(i * step), bottom + 16, "soft", fmt::format("{:g}", i * step), Anchor::middle);
  }
  double middle = top + kRow / 2;
  for (const Point& point : points) {
    std::string tooltip = fmt::format(
        "{}, {}: {:.3f} times as fast, quartiles {:.3f} to {:.3f}; {:.1f} us, the other {:.1f} us",
        point.name, point.shape, point.ratio.median, point.ratio.p25, point.ratio.p75, point.us,
        point.reference_us);
    if (point.limit) tooltip += fmt::format("; limit {:.3f}", *point.limit);
    svg_.text(left - 10, middle - 3, "label", fitted(point.name, label), Anchor::end);
    svg_.text(left - 10, middle + 12, "soft", fitted(point.shape, label), Anchor::end);
    svg_.rect(left, middle - kBar / 2, x(point.ratio.median) - left, kBar, "exposed", tooltip);
    const double low = x(point.ratio.p25), high = x(point.ratio.p75);
    svg_.line(low, middle, high, middle, "frame");
    for (const double end : {low, high}) svg_.line(end, middle - 5, end, middle + 5, "frame");
    if (point.limit)
      svg_.line(x(*point.limit), middle - kBar, x(*point.limit), middle + kBar, "mark");
    svg_.text(kRight + 10, middle + 4, "label", fmt::format("{:.2f}x", point.ratio.median));
    middle += kRow;
  }
  svg_.line(x(1), top, x(1), bottom, "frame");
  y_ = bottom + 22;
  if (all > points.size())
    paragraph("soft", fmt::format("The first {} of {} points are shown. --json has all of them.",
                                  points.size(), all));
}

// Times of one spec by rows: a line for tilepost and one for the other.
void Picture::times(const std::string& title, const std::vector<Point>& points) {
  constexpr double kLeft = 110;
  double most = 0;
  for (const Point& point : points) most = std::max({most, point.us, point.reference_us});
  const double first = std::log2(points.front().rows), last = std::log2(points.back().rows);
  svg_.text(kMargin, y_ += 34, "body", fitted(title, kWidth - 2 * kMargin));
  const double top = y_ + 16, bottom = top + kTimeHeight;
  const auto x = [&](const Point& point) {
    return kLeft + 20 + (std::log2(point.rows) - first) / (last - first) * (kRight - kLeft - 40);
  };
  const auto y = [&](double us) { return bottom - us / (1.05 * most) * kTimeHeight; };
  const double step = round_step(most, 5);
  for (int i = 0; i * step <= 1.05 * most; ++i) {
    svg_.line(kLeft, y(i * step), kRight, y(i * step), "grid");
    svg_.text(kLeft - 8, y(i * step) + 4, "soft", fmt::format("{:g} us", i * step), Anchor::end);
  }
  const auto line = [&](double Point::*us, const char* style, const char* dot, const char* who) {
    std::string path;
    for (const Point& point : points) {
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", coordinate(x(point)),
                          coordinate(y(point.*us)));
      svg_.rect(x(point) - 3, y(point.*us) - 3, 6, 6, dot,
                fmt::format("{}, {} rows: {:.1f} us", who, point.rows, point.*us));
    }
    svg_.path(path, style);
    svg_.text(kRight + 10, y(points.back().*us) + 4, "label", who);
  };
  line(&Point::reference_us, "mark", "plain", "reference");
  line(&Point::us, "edge", "exposed", "tilepost");
  double free = 0;  // labels of near numbers of rows would lie upon each other
  for (const Point& point : points) {
    const std::string text = std::to_string(point.rows);
    if (x(point) - text_width(text, kLabel) / 2 < free) continue;
    svg_.text(x(point), bottom + 16, "soft", text, Anchor::middle);
    free = x(point) + text_width(text, kLabel) / 2 + 6;
  }
  svg_.text((kLeft + kRight) / 2, bottom + 34, "soft", "rows (m), each doubling is as wide",
            Anchor::middle);
  y_ = bottom + 40;
}

// The points of each spec that have few rows and differ in their number, by rows.
std::map<std::string, std::vector<Point>> lines_of(const std::vector<HarnessProgram>& programs,
                                                   const BenchLog& log) {
  std::map<std::string, std::vector<Point>> lines;
  for (const char* name : kModesOfTimes) {
    const Mode& mode = *std::ranges::find_if(
        kModes, [&](const Mode& each) { return llvm::StringRef(each.name) == name; });
    std::map<std::string, std::vector<Point>> of_mode;
    for (Point& point : points_of(mode, programs, log))
      if (point.rows <= kFewRows) of_mode[point.spec].push_back(std::move(point));
    for (auto& [spec, points] : of_mode) {
      std::ranges::stable_sort(points, {}, &Point::rows);
      if (points.front().rows < points.back().rows)
        lines.try_emplace(spec + ", mode " + mode.name, std::move(points));
    }
    if (!lines.empty()) break;
  }
  return lines;
}

std::string machine_of(const BenchContext& context, const BenchLog& log) {
  const auto text = [&](llvm::StringRef key) {
    return log.machine().getString(key).value_or("unknown").str();
  };
  return fmt::format(
      "{}, revision {}. {} x {}; driver {}, CUDA {}, cuBLASLt {}, NCCL {}. {} rounds.",
      context.date, context.revision.empty() ? "unknown" : context.revision,
      log.machine().getInteger("gpus").value_or(0), text("gpu"), text("driver"), text("cuda"),
      text("cublaslt"), text("nccl"), context.options.rounds);
}

constexpr const char* kWhat =
    "A bar is how many times as fast tilepost is: right of 1 it is faster. The whole operation is "
    "compared with a sequence, which is the matrix product (GEMM) by cuBLASLt and then one "
    "collective by NCCL. The GEMM alone is compared with cuBLASLt. The limit is what no way to "
    "overlap them could exceed: nothing but the GEMM takes time, or nothing but what a rank sends.";

}  // namespace

std::string bench_picture(const BenchContext& context, const std::vector<HarnessProgram>& programs,
                          const BenchLog& log) {
  const std::string title = "tilepost bench: times that were measured";
  Picture picture;
  picture.title(title);
  picture.paragraph("body", kWhat);
  picture.paragraph("soft", machine_of(context, log));
  bool legend = true;
  for (const Mode& mode : kModes) {
    const std::vector<Point> points = points_of(mode, programs, log);
    if (points.empty()) continue;
    if (std::exchange(legend, false))
      picture.legend(
          std::ranges::any_of(points, [](const Point& point) { return point.limit.has_value(); }));
    picture.head(mode.title);
    picture.ratios(points);
  }
  const auto lines = lines_of(programs, log);
  if (!lines.empty()) picture.head("Times by rows, where there are few");
  for (const auto& [spec, points] : lines) picture.times(spec, points);
  bool failed = false;
  for (const HarnessProgram& program : programs) {
    const ProgramSamples& samples = log.of(program.name);
    if (samples.ok()) continue;
    if (!std::exchange(failed, true)) picture.head("Not measured");
    picture.paragraph("body", program.name + ": " + refusal(samples));
  }
  return picture.finish(title, kWhat);
}

}  // namespace tilepost
