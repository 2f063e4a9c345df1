// The text of an SVG picture: shapes, texts, and the colours of groups. It knows nothing of plans.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilepost {

// Text of any kind as the content of an element or an attribute.
std::string xml_escaped(std::string_view text);

// About how wide a text of that size is, in the same unit. Fonts differ, so this is rather too
// much.
double text_width(std::string_view text, double size);

// Breaks a text at spaces into lines that are no wider than `width`, where its words allow that.
std::vector<std::string> lines_within(std::string_view text, double size, double width);

enum class Anchor { start, middle, end };

// Appends elements in the order in which they are painted. Everything is styled by classes, which
// have a colour for bright backgrounds and one for dark ones:
//
//   text   title (20 px), head (15 px, bold), body (13 px), label (12 px), soft (12 px, grey)
//          exposed (12 px, bold, in the colour of hatched)
//   shapes colours of groups (below), plain (grey), hatched, paper (the background)
//   lines  frame, grid, edge (round hatched), cut (between bars), tick, cell, mark and border
//          (dashed), arrow
class Svg {
 public:
  explicit Svg(double width) : width_(width) {}

  // `tooltip`: shown when the pointer is on the rectangle; "" for none.
  void rect(double x, double y, double width, double height, std::string_view style,
            std::string_view tooltip = "");
  void text(double x, double y, std::string_view style, std::string_view text,
            Anchor anchor = Anchor::start);
  void line(double x0, double y0, double x1, double y1, std::string_view style);
  void path(std::string_view data, std::string_view style);

  // The whole file. `title` and `description` are for people who do not see the picture.
  std::string finish(double height, std::string_view title, std::string_view description) const;

 private:
  double width_;
  std::string body_;
};

// The classes of groups: kShades colours from blue over green to yellow, bright enough and dark
// enough on every background. Everyone can see their order, because lightness grows with it.
inline constexpr int kShades = 24;
// The shade of group `group` of `groups`.
int shade_of(int group, int groups);
// "s3" for a shape, "t3" for a text on it.
std::string fill_class(int shade);
std::string on_fill_class(int shade);

// The distance of an axis's ticks from 0 to `most`, which is above 0: 1, 2 or 5 times a power of
// ten, so that there are about so many steps.
double round_step(double most, int steps);

// "12.5": a coordinate with at most two digits behind the point.
std::string coordinate(double value);

}  // namespace tilepost
