#include "generator/plan/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "generator/printable.h"

namespace tilepost {
namespace {

struct Colour {
  double red, green, blue;
};
using Ramp = std::array<Colour, 5>;

// After viridis, whose order is visible also to people who cannot distinguish some colours. The
// ends are cut off where they would be too near the background.
constexpr Ramp kOnBright = {
    {{56, 60, 135}, {46, 105, 155}, {32, 144, 140}, {84, 178, 98}, {214, 192, 46}}};
constexpr Ramp kOnDark = {
    {{96, 112, 214}, {64, 146, 200}, {46, 178, 162}, {122, 205, 106}, {244, 224, 84}}};

Colour at(const Ramp& ramp, double part) {
  const double place = part * (ramp.size() - 1);
  const auto first = std::min(static_cast<size_t>(place), ramp.size() - 2);
  const double more = place - static_cast<double>(first);
  const Colour &a = ramp[first], &b = ramp[first + 1];
  return {a.red + more * (b.red - a.red), a.green + more * (b.green - a.green),
          a.blue + more * (b.blue - a.blue)};
}

// Relative luminance (WCAG 2, "relative luminance").
double luminance(const Colour& colour) {
  const auto linear = [](double value) {
    const double part = value / 255;
    return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

std::string shades(const Ramp& ramp) {
  std::string css;
  for (int i = 0; i < kShades; ++i) {
    const Colour colour = at(ramp, static_cast<double>(i) / (kShades - 1));
    const char* const text = luminance(colour) > 0.18 ? "#000" : "#fff";
    css += fmt::format(".{}{{fill:#{:02x}{:02x}{:02x}}}.{}{{fill:{}}}\n", fill_class(i),
                       static_cast<int>(colour.red), static_cast<int>(colour.green),
                       static_cast<int>(colour.blue), on_fill_class(i), text);
  }
  return css;
}

// What the parts of a picture besides groups look like on one kind of background.
struct Scheme {
  const char *paper, *ink, *soft, *grid, *plain, *exposed;
  const Ramp& ramp;
};
constexpr Scheme kBright = {"#ffffff", "#1b1f24", "#57606a", "#d8dee4",
                            "#c3ccd6", "#c4500a", kOnBright};
constexpr Scheme kDark = {"#14181d", "#e8ecf1", "#a3adb8", "#333b45",
                          "#56616e", "#ff9a57", kOnDark};

std::string css_of(const Scheme& scheme) {
  return fmt::format(
             ".paper{{fill:{0}}}.title,.head,.body,.label{{fill:{1}}}.soft{{fill:{2}}}\n"
             ".frame{{stroke:{1}}}.grid{{stroke:{3}}}.mark{{stroke:{1}}}.cut{{stroke:{0}}}\n"
             ".tick,.cell{{stroke:{0}}}.border,.arrow{{stroke:{1}}}\n"
             ".plain{{fill:{4}}}.exposed{{fill:{5}}}.edge{{stroke:{5}}}.hatch{{stroke:{5}}}\n",
             scheme.paper, scheme.ink, scheme.soft, scheme.grid, scheme.plain, scheme.exposed) +
         shades(scheme.ramp);
}

constexpr const char* kShapes =
    "text{font-family:system-ui,sans-serif;font-size:12px}\n"
    ".title{font-size:20px;font-weight:600}.head{font-size:15px;font-weight:600}\n"
    ".body{font-size:13px}.exposed{font-weight:600}\n"
    ".frame,.grid,.mark,.cut,.edge,.tick,.cell,.border,.arrow{fill:none;stroke-width:1}\n"
    ".frame{stroke-opacity:.55}.cut{stroke-opacity:.6}.cell{stroke-opacity:.22}\n"
    ".mark,.border{stroke-dasharray:5 3}\n"
    ".hatched{fill:url(#hatch)}\n";

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

double text_width(std::string_view text, double size) {
  return 0.6 * size * static_cast<double>(text.size());
}

std::vector<std::string> lines_within(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (!lines.empty() &&
        text_width(lines.back(), size) + text_width(word, size) + text_width(" ", size) <= width)
      lines.back() += " " + std::string(word);
    else
      lines.emplace_back(word);
  }
  return lines;
}

void Svg::rect(double x, double y, double width, double height, std::string_view style,
               std::string_view tooltip) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"",
                       coordinate(x), coordinate(y), coordinate(width), coordinate(height), style);
  body_ += tooltip.empty() ? "/>\n" : "><title>" + xml_escaped(tooltip) + "</title></rect>\n";
}

void Svg::text(double x, double y, std::string_view style, std::string_view text, Anchor anchor) {
  const char* const how = anchor == Anchor::start    ? ""
                          : anchor == Anchor::middle ? " text-anchor=\"middle\""
                                                     : " text-anchor=\"end\"";
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\"{}>{}</text>\n", coordinate(x),
                       coordinate(y), style, how, xml_escaped(text));
}

void Svg::line(double x0, double y0, double x1, double y1, std::string_view style) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n",
                       coordinate(x0), coordinate(y0), coordinate(x1), coordinate(y1), style);
}

void Svg::path(std::string_view data, std::string_view style) {
  if (!data.empty()) body_ += fmt::format("<path d=\"{}\" class=\"{}\"/>\n", data, style);
}

std::string Svg::finish(double height, std::string_view title, std::string_view description) const {
  const std::string wide = coordinate(width_), high = coordinate(height);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" role=\"img\" aria-labelledby=\"title description\">\n"
      "<title id=\"title\">{2}</title>\n<desc id=\"description\">{3}</desc>\n",
      wide, high, xml_escaped(title), xml_escaped(description));
  out += std::string("<style>\n") + kShapes + css_of(kBright) +
         "@media (prefers-color-scheme:dark){\n" + css_of(kDark) + "}\n</style>\n";
  out +=
      "<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"7\" class=\"hatch\" "
      "stroke-width=\"3\"/></pattern></defs>\n";
  return out + fmt::format("<rect width=\"{}\" height=\"{}\" class=\"paper\"/>\n", wide, high) +
         body_ + "</svg>\n";
}

int shade_of(int group, int groups) {
  return groups <= 1 ? kShades / 4
                     : static_cast<int>(std::lround(1.0 * group * (kShades - 1) / (groups - 1)));
}

std::string fill_class(int shade) {
  return "s" + std::to_string(shade);
}

std::string on_fill_class(int shade) {
  return "t" + std::to_string(shade);
}

double round_step(double most, int steps) {
  const double least = most / steps;
  const double step = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * step >= least * (1 - 1e-9)) return factor * step;
  return 10 * step;
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace tilepost
