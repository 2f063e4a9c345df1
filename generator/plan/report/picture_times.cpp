// The upper half of the picture: time goes from left to right.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generator/plan/cost/predict.h"
#include "generator/plan/report/picture_parts.h"
#include "generator/plan/transports/transports.h"

namespace tilepost {
namespace {

constexpr double kLeft = 170, kRight = 1165;       // the ends of the time axis
constexpr double kBar = 26, kGap = 6, kHead = 26;  // heights
constexpr double kText = 12;                       // size of labels
constexpr double kLeastBar = (kRight - kLeft) / kMostBars;
constexpr size_t kMostRows = 6;  // for transfers of a lane that overlap each other

// Consecutive groups that are drawn as one bar: `first` alone, unless they are too many to be seen.
struct Bar {
  double begin, end;
  int first, last;
  std::string groups() const {
    return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  }
  std::string name() const { return (first == last ? "group " : "groups ") + groups(); }
  std::string times() const { return fmt::format("{:.1f} to {:.1f} us", begin, end); }
};

class TimePart {
 public:
  // `end`: of the axis, in us.
  TimePart(Svg& svg, const Plan& plan, const Timeline& timeline, double end, double y)
      : svg_(svg),
        plan_(plan),
        timeline_(timeline),
        groups_(static_cast<int>(plan.tile_map().groups.size())),
        y_(y),
        end_(end),
        per_us_((kRight - kLeft) / end) {}

  double draw(const Measured* measured) {
    draw_plan();
    if (measured != nullptr)
      y_ = TimePart(svg_, plan_, timeline_of(plan_, *measured), end_, y_).draw_measured(*measured);
    if (timeline_.overlaps && timeline_.sequence > 0) draw_sequence();
    if (!timeline_.load.empty()) draw_load();
    draw_axis();
    return y_;
  }

 private:
  double x(double us) const { return kLeft + us * per_us_; }

  void head(const std::string& text) {
    svg_.text(kPictureMargin, y_ + 11, "head", text);
    y_ += kHead;
  }

  void row_label(const std::string& text) {
    svg_.text(kLeft - 10, y_ + kBar / 2 + 4, "label", text, Anchor::end);
  }

  template <class Spans>
  std::vector<Bar> bars_of(const Spans& spans) const {
    std::vector<Bar> bars;
    for (const auto& span : spans) {
      const bool joins = spans.size() > kMostBars && !bars.empty() &&
                         (bars.back().end - bars.back().begin) * per_us_ < kLeastBar;
      if (!joins) bars.push_back({span.begin, span.end, span.group, span.group});
      bars.back().end = std::max(bars.back().end, span.end);
      bars.back().last = span.group;
    }
    return bars;
  }

  double width(const Bar& bar) const { return std::max(0.75, (bar.end - bar.begin) * per_us_); }

  // A bar of groups, with their numbers where there is room.
  void draw_bar(const Bar& bar, double top, double height, const std::string& tooltip) {
    const int shade = shade_of(bar.first, groups_);
    svg_.rect(x(bar.begin), top, width(bar), height, fill_class(shade),
              bar.name() + ": " + tooltip);
    if (width(bar) >= text_width(bar.groups(), kText) + 4 && height > 14)
      svg_.text(x(bar.begin) + width(bar) / 2, top + height / 2 + 4, on_fill_class(shade),
                bar.groups(), Anchor::middle);
    if (width(bar) >= 3) svg_.rect(x(bar.begin), top, width(bar), height, "cut");
  }

  // Draws a time in which only communication goes on. The label stands inside it or behind it, or
  // is left out.
  void draw_exposed(double begin, double end, const std::string& tooltip) {
    const double left = x(begin), wide = std::max(1.5, (end - begin) * per_us_);
    svg_.rect(left, y_, wide, kBar, "hatched", tooltip);
    svg_.rect(left, y_, wide, kBar, "edge");
    const std::string text = fmt::format("exposed {:.0f} us", end - begin);
    const double room = 1.08 * text_width(text, kText) + 8;  // it is bold
    if (wide >= room) {
      svg_.rect(left + (wide - room) / 2, y_ + 4, room, kBar - 8, "paper");
      svg_.text(left + wide / 2, y_ + kBar / 2 + 4, "exposed", text, Anchor::middle);
    } else if (end >= timeline_.total && left + wide + room <= kRight) {
      svg_.text(left + wide + 6, y_ + kBar / 2 + 4, "exposed", text);
    }
  }

  // Cuts the bars of groups into waves, as long as waves are wide enough to be seen.
  void draw_waves() {
    int most = 0;
    for (const int waves : timeline_.waves) most += waves;
    if (most == 0 || timeline_.gemm_us * per_us_ / most < 3) return;
    std::string ticks;
    for (size_t i = 0; i < timeline_.gemm.size(); ++i) {
      const Span& span = timeline_.gemm[i];
      for (int wave = 1; wave < timeline_.waves[i]; ++wave)
        ticks += fmt::format("M{} {}v5",
                             coordinate(x(span.begin + span.length() * wave / timeline_.waves[i])),
                             coordinate(y_ + kBar - 5));
    }
    svg_.path(ticks, "tick");
  }

  void draw_gemm() {
    row_label("GEMM");
    for (const Bar& bar : bars_of(timeline_.gemm)) {
      int waves = 0, tiles = 0;
      for (size_t i = 0; i < timeline_.gemm.size(); ++i)
        if (timeline_.gemm[i].group >= bar.first && timeline_.gemm[i].group <= bar.last) {
          waves += timeline_.waves[i];
          tiles += plan_.tile_map().groups[timeline_.gemm[i].group].num_tiles;
        }
      draw_bar(bar, y_, kBar, fmt::format("{}, {} waves, {} tiles", bar.times(), waves, tiles));
    }
    draw_waves();
    for (const Bar& bar : bars_of(timeline_.exposed))
      draw_exposed(bar.begin, bar.end, "exposed: " + bar.times());
    y_ += kBar + kGap;
  }

  double mib(const Bar& bar) const {
    int64_t bytes = 0;
    for (int g = bar.first; g <= bar.last; ++g) bytes += bytes_of_group(plan_, g);
    return static_cast<double>(bytes) / (1 << 20);
  }

  // The rows of a lane. Where transfers would need more than kMostRows rows, they share one row,
  // and each is drawn until the next begins.
  std::vector<std::vector<Span>> rows_of(const std::vector<Span>& lane) const {
    std::vector<std::vector<Span>> rows = rows_without_overlap(lane);
    return rows.size() > kMostRows ? std::vector<std::vector<Span>>{lane} : rows;
  }

  void draw_lanes() {
    for (size_t i = 0; i < timeline_.lanes.size(); ++i) {
      const std::string lane =
          timeline_.lanes.size() > 1 ? fmt::format(", lane {}", i + 1) : std::string();
      std::string name = timeline_.collective + lane;
      for (const std::vector<Span>& row : rows_of(timeline_.lanes[i])) {
        row_label(name);
        name = "overlapping";
        const std::vector<Bar> bars = bars_of(row);
        for (size_t b = 0; b < bars.size(); ++b) {
          Bar bar = bars[b];
          if (b + 1 < bars.size() && bars[b + 1].begin < bar.end) bar.end = bars[b + 1].begin;
          draw_bar(bar, y_, kBar, fmt::format("{}, {:.2f} MiB", bars[b].times(), mib(bar)));
        }
        y_ += kBar + kGap;
      }
    }
  }

  // By how much the plan is faster than the sequence, in the last row of the plan.
  void draw_gain() {
    const double gain = timeline_.sequence - timeline_.total;
    if (!timeline_.overlaps || gain * per_us_ < 16) return;
    const double from = x(timeline_.total) + 2, to = x(timeline_.sequence) - 1;
    const double middle = y_ - kGap - kBar / 2;
    svg_.path(fmt::format("M{0} {1}H{2}m5 -4l-5 4l5 4M{3} {4}l5 4l-5 4", coordinate(to),
                          coordinate(middle), coordinate(from), coordinate(to - 5),
                          coordinate(middle - 4)),
              "arrow");
    const std::string text =
        fmt::format("{:.0f} us less: {:.2f}x as fast", gain, timeline_.sequence / timeline_.total);
    const double room = text_width(text, kText) + 8;
    if (to - from < room + 24) return;
    svg_.rect((from + to - room) / 2, middle - 9, room, 18, "paper");
    svg_.text((from + to) / 2, middle + 4, "label", text, Anchor::middle);
  }

  // The run's rows, below their head.
  void draw_run() {
    y_ += kGap;
    if (timeline_.comes_first) draw_lanes();
    draw_gemm();
    if (!timeline_.comes_first) draw_lanes();
  }

  // Ends the part of a run by a line down to its last row.
  void mark_end(double top) {
    svg_.line(x(timeline_.total), top, x(timeline_.total), y_, "mark");
    y_ += 14;
  }

  double draw_measured(const Measured& measured) {
    const double top = y_ + 14;
    head(fmt::format("As measured on rank {}{}: {:.0f} us", measured.rank,
                     measured.replayed ? ", replayed" : "", measured.total));
    draw_run();
    mark_end(top);
    return y_;
  }

  void draw_plan() {
    const double top = y_ + 14;
    head(fmt::format("{}: {:.0f} us",
                     timeline_.lanes.empty() ? "As planned"
                     : timeline_.overlaps    ? "As planned, with overlap"
                                             : "As planned, without overlap",
                     timeline_.total));
    draw_run();
    draw_gain();
    mark_end(top);
  }

  void draw_whole(const char* name, const Span& span, const std::string& text) {
    row_label(name);
    svg_.rect(x(span.begin), y_, span.length() * per_us_, kBar, "plain",
              fmt::format("{}: {:.1f} to {:.1f} us", name, span.begin, span.end));
    if (span.length() * per_us_ > text_width(text, kText) + 8)
      svg_.text((x(span.begin) + x(span.end)) / 2, y_ + kBar / 2 + 4, "label", text,
                Anchor::middle);
  }

  void draw_sequence() {
    const Span &gemm = timeline_.sequence_gemm, &sent = timeline_.sequence_sent;
    head(fmt::format("In sequence ({}): {:.0f} us", sequence_text(plan_.pattern),
                     timeline_.sequence));
    const double top = y_ - 6;
    const auto draw_collective = [&] {
      draw_whole(timeline_.collective.c_str(), sent, fmt::format("{:.0f} us", sent.length()));
      y_ += kBar + kGap;
    };
    if (timeline_.comes_first) draw_collective();
    draw_whole("GEMM", gemm, fmt::format("{:.0f} us", gemm.length()));
    draw_exposed(sent.begin, sent.end,
                 fmt::format("exposed: {:.1f} to {:.1f} us", sent.begin, sent.end));
    y_ += kBar + kGap;
    if (!timeline_.comes_first) draw_collective();
    svg_.line(x(timeline_.sequence), top, x(timeline_.sequence), y_, "mark");
    y_ += 14;
  }

  // A bar shows the bytes of all its groups over the time that they take.
  void draw_load() {
    constexpr double kHeight = 84;
    head(
        "Load of the links, as planned: bytes of a group over the time in which the links carry "
        "them, GB/s");
    const std::vector<Bar> bars = bars_of(timeline_.load);
    const auto rate = [&](const Bar& bar) {
      double bytes = 0, us = 0;
      for (const Load& load : timeline_.load)
        if (load.group >= bar.first && load.group <= bar.last) {
          bytes += load.gb_per_s * load.length();
          us += load.length();
        }
      return bytes / us;
    };
    double most = 0;
    for (const Bar& bar : bars) most = std::max(most, rate(bar));
    const double step = round_step(most, 3), top = step * std::ceil(most / step - 1e-9);
    const double base = y_ + kHeight;
    for (double level = 0; level < top * 1.001; level += step) {
      const double at = base - level / top * kHeight;
      svg_.line(kLeft, at, kRight, at, "grid");
      svg_.text(kLeft - 10, at + 4, "soft", fmt::format("{:g}", level), Anchor::end);
    }
    for (const Bar& bar : bars) {
      const double height = std::max(1.0, rate(bar) / top * kHeight);
      draw_bar(bar, base - height, height, fmt::format("{}, {:.0f} GB/s", bar.times(), rate(bar)));
    }
    y_ = base + 10;
  }

  void draw_axis() {
    const double step = round_step(end_, 10);
    svg_.line(kLeft, y_, kRight, y_, "frame");
    for (double us = 0; us <= end_ * 1.0001; us += step) {
      svg_.line(x(us), y_, x(us), y_ + 5, "frame");
      svg_.text(x(us), y_ + 19, "label", fmt::format("{:g}", us), Anchor::middle);
    }
    svg_.text(kLeft - 10, y_ + 19, "soft", "time, us", Anchor::end);
    y_ += 24;
  }

  Svg& svg_;
  const Plan& plan_;
  const Timeline& timeline_;
  const int groups_;
  double y_;
  const double end_, per_us_;
};

}  // namespace

double draw_times(Svg& svg, const Plan& plan, const Timeline& timeline, const Measured* measured,
                  double y) {
  double end = std::max(timeline.total, timeline.sequence);
  if (measured != nullptr) end = std::max(end, measured->total);
  return TimePart(svg, plan, timeline, end, y).draw(measured);
}

}  // namespace tilepost
