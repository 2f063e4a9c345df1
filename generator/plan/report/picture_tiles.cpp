// The lower half of the picture: where each group lies in the product, and what everything means.
#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/report/picture_parts.h"
#include "generator/plan/report/tile_grid.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

constexpr double kText = 12;
// The room for the map, and the most room for one of its cells.
constexpr double kMapLeft = 100, kMapWide = 440, kMapHigh = 420, kMostCell = 26;
constexpr size_t kMostBlocks = 1200;
constexpr double kLegendLeft = 680;

class MapPart {
 public:
  MapPart(Svg& svg, const Plan& plan, double y)
      : svg_(svg),
        plan_(plan),
        grid_(grid_of(plan, kMostBlocks, 210, 220)),
        groups_(static_cast<int>(plan.tile_map().groups.size())),
        top_(y + 66) {
    wide_ = std::min(kMapWide / columns(), kMostCell);
    high_ = std::min(kMapHigh / rows(), kMostCell);
  }

  double draw() {
    draw_head();
    for (const TileBlock& block : grid_.blocks) draw_block(block);
    if (std::min(wide_, high_) >= 4) draw_cells();
    svg_.rect(kMapLeft, top_, columns() * wide_, rows() * high_, "frame");
    for (const RankRows& rank : grid_.ranks) draw_rank(rank);
    return top_ + rows() * high_ + 8;
  }

 private:
  // The map's size in cells. The last cell may have fewer tiles than the others.
  double rows() const { return 1.0 * grid_.tile_rows / grid_.grain_rows; }
  double columns() const { return 1.0 * grid_.tile_columns / grid_.grain_columns; }
  double x(double column) const { return kMapLeft + std::min(column, columns()) * wide_; }
  double y(double row) const { return top_ + std::min(row, rows()) * high_; }

  void draw_head() {
    svg_.text(kPictureMargin, top_ - 55, "head",
              fmt::format("Map of the product: {} x {} tiles of {} x {}{}", grid_.tile_rows,
                          grid_.tile_columns, plan_.map.tile_m, plan_.map.tile_n,
                          groups_ > 1 ? ", coloured by group" : ""));
    if (grid_.grain_rows > 1 || grid_.grain_columns > 1)
      svg_.text(kPictureMargin, top_ - 36, "soft",
                fmt::format("A cell stands for {} x {} tiles and has the colour of the tile in "
                            "its middle.",
                            grid_.grain_rows, grid_.grain_columns));
    svg_.text(kMapLeft, top_ - 7, "soft", "column 0");
    const std::string last = std::to_string(plan_.map.n - 1);
    if (columns() * wide_ > text_width("column 0", kText) + text_width(last, kText) + 10)
      svg_.text(x(columns()), top_ - 7, "soft", last, Anchor::end);
    svg_.text(kMapLeft - 8, top_ + 10, "soft", "row 0", Anchor::end);
    if (rows() * high_ >= 24)
      svg_.text(kMapLeft - 8, y(rows()), "soft", std::to_string(plan_.map.m - 1), Anchor::end);
  }

  void draw_block(const TileBlock& block) {
    const double left = x(block.column), above = y(block.row);
    const double wide = x(block.column + block.columns) - left;
    const double high = y(block.row + block.rows) - above;
    const int shade = shade_of(block.group, groups_);
    const std::string name = std::to_string(block.group);
    svg_.rect(left, above, wide, high, fill_class(shade));
    if (wide >= text_width(name, kText) + 4 && high >= 13)
      svg_.text(left + wide / 2, above + high / 2 + 4, on_fill_class(shade), name, Anchor::middle);
  }

  void draw_cells() {
    std::string lines;
    for (int row = 1; row < rows(); ++row)
      lines +=
          fmt::format("M{} {}h{}", kMapLeft, coordinate(y(row)), coordinate(columns() * wide_));
    for (int column = 1; column < columns(); ++column)
      lines += fmt::format("M{} {}v{}", coordinate(x(column)), coordinate(top_),
                           coordinate(rows() * high_));
    svg_.path(lines, "cell");
  }

  // A bracket beside the rows of a rank.
  void draw_rank(const RankRows& rank) {
    const double first = y(rank.first / grid_.grain_rows), end = y(rank.end / grid_.grain_rows);
    const double right = x(columns()) + 7;
    svg_.path(fmt::format("M{0} {1}h6V{2}h-6", coordinate(right), coordinate(first + 1),
                          coordinate(end - 1)),
              "frame");
    if (rank.rank > 0) svg_.line(kMapLeft, first, right - 7, first, "border");
    const double middle = (first + end) / 2;
    if (middle - last_label_ < 13) return;
    last_label_ = middle;
    svg_.text(right + 12, middle + 4, "label", fmt::format("rank {}", rank.rank));
  }

  Svg& svg_;
  const Plan& plan_;
  const DrawnTiles grid_;
  const int groups_;
  const double top_;
  double wide_ = 0, high_ = 0, last_label_ = 0;
};

class Legend {
 public:
  Legend(Svg& svg, double y) : svg_(svg), y_(y + 11) {
    svg_.text(kLegendLeft, y_, "head", "How to read this picture");
    y_ += 14;
  }

  // An entry of the legend: what `draw` draws in a place of 48 x 16, then what it means.
  template <class Draw>
  void entry(const Draw& draw, const std::string& text) {
    y_ += 12;
    draw(kLegendLeft, y_);
    for (const std::string& line :
         lines_within(text, 13, kPictureWidth - kPictureMargin - kLegendLeft - 64)) {
      svg_.text(kLegendLeft + 64, y_ + 12, "body", line);
      y_ += 18;
    }
  }

  double end() const { return y_; }

 private:
  Svg& svg_;
  double y_;
};

std::string meaning_of_groups(const Plan& plan) {
  const size_t groups = plan.tile_map().groups.size();
  if (groups == 1) return "One group of tiles: all of them.";
  std::string text = row_of(plan).moves_input()
                         ? "A group: tiles that wait for rows of A which arrive at the same time."
                         : "A group: tiles whose results are sent together.";
  text +=
      fmt::format(" Its colour and number are the same in every part, from 0 (first) to {} (last).",
                  groups - 1);
  if (groups > kMostBars) text += " They are many: a bar stands for several.";
  if (plan.map.division == TILEPOST_DIVISION_ARRIVALS)
    text += " Shown is rank 0: group 0 is its own rows.";
  return text;
}

}  // namespace

double draw_tiles(Svg& svg, const Plan& plan, double y) {
  return MapPart(svg, plan, y).draw();
}

double draw_legend(Svg& svg, const Plan& plan, const Timeline* timeline, double y) {
  Legend legend(svg, y);
  const int groups = static_cast<int>(plan.tile_map().groups.size());
  legend.entry(
      [&](double left, double top) {
        const int cells = std::min(groups, 6);
        for (int i = 0; i < cells; ++i)
          svg.rect(left + 48.0 * i / cells, top, 48.0 / cells, 16,
                   fill_class(shade_of(cells == 1 ? 0 : i * (groups - 1) / (cells - 1), groups)));
      },
      meaning_of_groups(plan));
  legend.entry(
      [&](double left, double top) {
        svg.path(fmt::format("M{0} {1}h16v16h-16zm16 0h16v16h-16zm16 0h16v16h-16z", left, top),
                 "frame");
      },
      "A tile: a block of the product. Tiles that the whole GPU computes at the same time are a "
      "wave; ticks in the row of the GEMM, if there is room, separate waves.");
  if (timeline && !timeline->lanes.empty()) {
    const std::string collective = timeline->collective;
    if (timeline->overlaps)
      legend.entry(
          [&](double left, double top) {
            svg.rect(left, top, 48, 7, fill_class(shade_of(0, groups)));
            svg.rect(left + 8, top + 9, 40, 7, fill_class(shade_of(0, groups)));
          },
          std::string("Hidden: communication costs no time while the GEMM still computes.") +
              (timeline->lanes.size() > 1
                   ? " Groups take turns at the lanes, each of which is a stream of its own."
                   : ""));
    legend.entry(
        [&](double left, double top) {
          svg.rect(left, top, 48, 16, "hatched");
          svg.rect(left, top, 48, 16, "edge");
        },
        std::string("Exposed: the GEMM ") +
            (timeline->comes_first ? "waits for data" : "has ended") +
            ", and only the collective (" + collective + ") goes on.");
  }
  const DrawnTiles ranks = grid_of(plan, 1, 1, 1);
  if (!ranks.ranks.empty())
    legend.entry(
        [&](double left, double top) {
          svg.path(fmt::format("M{0} {1}h6v14h-6", left, top + 1), "frame");
          svg.text(left + 12, top + 12, "label", "rank");
        },
        "Beside the map: the " + ranks.meaning + ".");
  return legend.end();
}

}  // namespace tilepost
