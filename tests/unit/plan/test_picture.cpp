// The picture and the trace of a plan. Their numbers are those of the plan's prediction.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "generator/plan/cost/predict.h"
#include "generator/plan/report/picture.h"
#include "generator/plan/report/spans.h"
#include "generator/plan/report/svg.h"
#include "generator/plan/report/tile_grid.h"
#include "generator/plan/report/trace.h"
#include "generator/plan/transports/transports.h"
#include "llvm/Support/JSON.h"
#include "tests/unit/plan/only_plan.h"
#include "tests/unit/plan/svg_reader.h"

namespace tilepost::test {
namespace {

constexpr size_t kMostBytes = 300000;

std::vector<Element> elements_of(const std::string& svg) {
  const XmlReader reader(svg);
  INFO(svg.substr(0, 400));
  REQUIRE(reader.wrong() == "");
  return reader.elements();
}

// A bar of the picture, by the words of its tooltip.
struct Drawn {
  std::string what;  // "group 3", "exposed", "GEMM", "AllReduce"
  std::string begin, end, rest;
  double x, width;
};

std::vector<Drawn> drawn_in(const std::vector<Element>& elements) {
  static const std::regex tooltip(R"((.*): (\d+\.\d) to (\d+\.\d) us(?:, (.*))?)");
  std::vector<Drawn> drawn;
  for (const Element& element : elements) {
    std::smatch match;
    if (element.name != "title" || element.parent <= 0 ||
        !std::regex_match(element.text, match, tooltip))
      continue;
    const Element& rect = elements[element.parent];
    REQUIRE(rect.name == "rect");
    drawn.push_back(
        {match[1], match[2], match[3], match[4], rect.number("x"), rect.number("width")});
  }
  return drawn;
}

// The bars whose tooltip ends with `ending`, by group.
std::map<int, Drawn> by_group(const std::vector<Drawn>& all, const std::string& ending) {
  std::map<int, Drawn> found;
  for (const Drawn& drawn : all)
    if (drawn.rest.ends_with(ending) && drawn.what.starts_with("group "))
      REQUIRE(found.emplace(std::stoi(drawn.what.substr(6)), drawn).second);
  return found;
}

std::string tenths(double us) {
  return fmt::format("{:.1f}", us);
}

bool says(const std::vector<Element>& elements, const std::string& words) {
  return std::ranges::any_of(elements, [&](const Element& element) {
    return element.text.find(words) != std::string::npos;
  });
}

// All body texts in a row, because sentences are broken into lines.
std::string body_of(const std::vector<Element>& elements) {
  std::string text;
  for (const Element& element : elements)
    if (element.attributes.contains("class") && element.attributes.at("class") == "body")
      text += element.text + " ";
  return text;
}

// Every bar begins and ends at its times on one common axis.
void check_scale(const std::vector<Drawn>& drawn, double total) {
  const Drawn* longest = nullptr;
  for (const Drawn& bar : drawn)
    if (!longest || bar.width > longest->width) longest = &bar;
  REQUIRE(longest != nullptr);
  const double per_us = longest->width / (std::stod(longest->end) - std::stod(longest->begin));
  const double left = longest->x - std::stod(longest->begin) * per_us;
  for (const Drawn& bar : drawn) {
    INFO(bar.what << " " << bar.begin << " " << bar.end << " " << bar.rest);
    CHECK(std::abs(bar.x - left - std::stod(bar.begin) * per_us) < 0.2 * per_us + 0.05);
    const double width = (std::stod(bar.end) - std::stod(bar.begin)) * per_us;
    CHECK(bar.width <= std::max(1.6, width + 0.2 * per_us + 0.05));
    CHECK(std::stod(bar.end) < total + 0.1);
  }
}

void check_sequence(const Plan& plan, const std::vector<Drawn>& drawn) {
  const Prediction& prediction = plan.prediction;
  const bool first = row_of(plan).moves_input();
  const double sent = prediction.sequence - prediction.sequence_gemm;
  REQUIRE(prediction.sequence_gemm > 0);
  REQUIRE(sent > 0);
  int bars = 0;
  for (const Drawn& bar : drawn) {
    if (bar.what.starts_with("group") || bar.what == "exposed") continue;
    ++bars;
    const bool ends = (bar.what == "GEMM") == first;
    CHECK(bar.end == tenths(ends                 ? prediction.sequence
                            : bar.what == "GEMM" ? prediction.sequence_gemm
                                                 : sent));
    CHECK(bar.begin == tenths(!ends ? 0 : first ? sent : prediction.sequence_gemm));
  }
  CHECK(bars == 2);
}

// Compares every number in the picture's timelines with the prediction of a plan with few groups.
void check_picture(const Plan& plan) {
  const std::string svg = draw_picture({plan});
  const std::vector<Element> elements = elements_of(svg);
  const std::vector<Drawn> drawn = drawn_in(elements);
  const Prediction& prediction = plan.prediction;
  const size_t groups = prediction.group_ready.size();
  REQUIRE(groups <= 200);
  CHECK(svg.size() < kMostBytes);
  check_scale(drawn, std::max(prediction.total, prediction.sequence));
  const auto computed = by_group(drawn, " tiles"), sent = by_group(drawn, " MiB"),
             carried = by_group(drawn, " GB/s");
  const bool overlaps = transport_of(plan.planned_transport).row.overlaps;
  const bool first = row_of(plan).moves_input();
  double before = 0, free = 0;  // when the GEMM and the links have ended all earlier work
  size_t with_tiles = 0;
  for (size_t g = 0; g < groups; ++g) {
    INFO("group " << g);
    const int group = static_cast<int>(g);
    if (plan.tile_map().groups[g].num_tiles > 0) {
      ++with_tiles;
      const double begin = first ? std::max(before, prediction.collective_end[g]) : before;
      REQUIRE(computed.contains(group));
      CHECK(computed.at(group).begin == tenths(begin));
      CHECK(computed.at(group).end == tenths(prediction.group_ready[g]));
      CHECK(computed.at(group).rest.find(fmt::format(
                " {} tiles", plan.tile_map().groups[g].num_tiles)) != std::string::npos);
    }
    before = prediction.group_ready[g];
    if (!row_of(plan).communicates()) continue;
    if (prediction.collective_end[g] > prediction.collective_start[g]) {
      REQUIRE(sent.contains(group));
      CHECK(sent.at(group).begin == tenths(prediction.collective_start[g]));
      CHECK(sent.at(group).end == tenths(prediction.collective_end[g]));
      CHECK(sent.at(group).rest ==
            fmt::format("{:.2f} MiB", static_cast<double>(bytes_of_group(plan, g)) / (1 << 20)));
    }
    if (!carried.contains(group)) {
      CHECK((g == 0 && plan.map.division == TILEPOST_DIVISION_ARRIVALS));
      continue;
    }
    CHECK(carried.at(group).begin == tenths(std::max(free, prediction.collective_start[g])));
    free = prediction.collective_end[g] - (overlaps ? plan.model.tail : 0);
    CHECK(carried.at(group).end == tenths(free));
    const double us = std::stod(carried.at(group).end) - std::stod(carried.at(group).begin);
    const double rate = std::stod(carried.at(group).rest);
    const double bytes = static_cast<double>(bytes_of_group(plan, g));
    CHECK(std::abs(rate * us * 1e3 - bytes) < (0.6 / rate + 0.11 / us) * bytes);
  }
  CHECK(computed.size() == with_tiles);
  const std::string body = body_of(elements);
  INFO(body);
  if (!row_of(plan).communicates()) {
    CHECK(sent.empty());
    CHECK(body.find(fmt::format("takes {:.0f} us", prediction.gemm)) != std::string::npos);
    return;
  }
  CHECK(body.find(fmt::format("{:.0f} us in all", prediction.total)) != std::string::npos);
  CHECK(body.find(fmt::format("{:.0f} us", prediction.total - prediction.gemm)) !=
        std::string::npos);
  CHECK(body.find(row_of(plan).routes() ? "AllToAll" : row_of(plan).collective) !=
        std::string::npos);
  if (overlaps) {
    check_sequence(plan, drawn);
    CHECK(body.find(fmt::format("{:.2f}x", prediction.sequence / prediction.total)) !=
          std::string::npos);
  }
}

llvm::json::Value parsed(const std::string& text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  REQUIRE(static_cast<bool>(value));
  return *value;
}

// The spans of each thread are in order and do not overlap. Every thread and process has a name.
void check_trace(const Plan& plan) {
  const llvm::json::Value value = parsed(trace_of(plan));
  std::map<std::pair<int64_t, int64_t>, double> ends;
  std::set<std::pair<int64_t, int64_t>> names;
  size_t computed = 0, sent = 0;
  double last = 0;
  for (const llvm::json::Value& item : *value.getAsObject()->getArray("traceEvents")) {
    const llvm::json::Object& event = *item.getAsObject();
    const llvm::StringRef kind = *event.getString("ph"), name = *event.getString("name");
    if (kind == "M" && name == "thread_name")
      names.insert({*event.getInteger("pid"), *event.getInteger("tid")});
    if (kind != "X") continue;
    const std::pair track(*event.getInteger("pid"), *event.getInteger("tid"));
    CHECK(names.contains(track));
    const double begin = *event.getNumber("ts"), length = *event.getNumber("dur");
    CHECK(length >= 0);
    if (ends.contains(track)) CHECK(begin >= ends[track] - 1e-6);
    ends[track] = begin + length;
    if (track.first == 1) last = std::max(last, begin + length);
    const llvm::json::Object& args = *event.getObject("args");
    if (args.getInteger("tiles")) {
      const size_t group = std::stoul(name.substr(6).str());
      CHECK(begin + length == Approx(plan.prediction.group_ready.at(group)).margin(2e-3));
      ++computed;
    }
    if (const auto bytes = args.getInteger("bytes")) {
      const size_t group = std::stoul(name.substr(6).str());
      CHECK(begin == Approx(plan.prediction.collective_start.at(group)).margin(2e-3));
      CHECK(begin + length == Approx(plan.prediction.collective_end.at(group)).margin(2e-3));
      CHECK(*bytes == bytes_of_group(plan, group));
      ++sent;
    }
  }
  CHECK(last == Approx(plan.prediction.total).margin(2e-3));
  CHECK(computed > 0);
  CHECK((sent > 0) == row_of(plan).communicates());
}

TEST_CASE("the picture's numbers are those of the prediction") {
  for (const tilepost_pattern_t pattern : kCommunicating)
    for (const std::optional<tilepost_transport_t> transport :
         open_or({TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE, TILEPOST_TRANSPORT_PEER,
                  TILEPOST_TRANSPORT_NONE}))
      for (const int64_t m : {int64_t{1000}, int64_t{8192}}) {
        const Planned planned = plan(spec_of(pattern, transport, m));
        if (planned.plans.empty()) continue;  // the pattern does not have this transport
        INFO(name_of(pattern) << " by " << name_of(planned.plans[0].planned_transport) << ", m "
                              << m);
        check_picture(planned.plans[0]);
        check_trace(planned.plans[0]);
      }
}

TEST_CASE("a picture of 10^4 tiles, and one of a GEMM alone") {
  Spec large = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL, 12800);
  large.gemm.n.value = 12800;
  large.schedule.tile = wish(std::vector<int64_t>{128, 128});
  const Plan plan = only(large);
  REQUIRE(plan.tile_map().tiles.size() == 10000);
  check_picture(plan);
  const Plan alone = only(gemm_spec(8192, 8192, 2048));
  check_picture(alone);
  check_trace(alone);
  CHECK(says(elements_of(draw_picture({alone})), "Nothing is sent."));
}

TEST_CASE("a host plan has a map and no times") {
  const Plan host = only(make_spec(500, 500, 64, Arch::host));
  const std::vector<Element> elements = elements_of(draw_picture({host}));
  CHECK(drawn_in(elements).empty());
  CHECK(says(elements, "Map of the product"));
  CHECK(says(elements, "No times are predicted"));
  CHECK(trace_of(host).empty());
}

// A plan of `groups` groups. Each has one tile row, and is complete 1 us after the group before.
Plan many_groups(int groups) {
  SmallPlan small;
  small.m = groups;
  small.n = 2;
  for (int g = 1; g <= groups; ++g) small.cuts.push_back(g);
  small.gemm_ctas = 2;
  Plan plan = build_plan(small);
  plan.group_waves.assign(groups, 1);
  for (int g = 0; g < groups; ++g) {
    plan.prediction.group_ready.push_back(g + 1);
    plan.prediction.collective_start.push_back(g + 1);
    plan.prediction.collective_end.push_back(g + 40);
  }
  plan.prediction.gemm = groups;
  plan.prediction.total = groups + 39;
  plan.prediction.sequence = 2 * groups;
  plan.prediction.sequence_gemm = groups;
  return plan;
}

TEST_CASE("a picture of 10^5 groups is small") {
  const std::string svg = draw_picture({many_groups(100000)});
  CHECK(svg.size() < kMostBytes);
  const std::vector<Drawn> drawn = drawn_in(elements_of(svg));
  int next = 0;
  for (const Drawn& bar : drawn) {  // no group is left out
    if (!bar.rest.ends_with(" tiles")) continue;
    CHECK(bar.what.starts_with(fmt::format("groups {}-", next)));
    CHECK(bar.width >= 4);
    next = std::stoi(bar.what.substr(bar.what.find('-') + 1)) + 1;
  }
  CHECK(next == 100000);
}

TEST_CASE("transfers that overlap get rows of their own") {
  const std::vector<Span> lane = {{0, 4, 0}, {1, 2, 1}, {2, 6, 2}, {3, 5, 3}, {6, 7, 4}};
  const std::vector<std::vector<Span>> rows = rows_without_overlap(lane);
  CHECK(rows.size() == 3);
  size_t spans = 0;
  for (const std::vector<Span>& row : rows)
    for (size_t i = 0; i < row.size(); ++i, ++spans)
      if (i > 0) CHECK(row[i].begin >= row[i - 1].end);
  CHECK(spans == lane.size());
}

TEST_CASE("the map's blocks are the tiles' groups") {
  for (const tilepost_pattern_t pattern : kCommunicating) {
    INFO(name_of(pattern));
    const Plan plan = only(spec_of(pattern, std::nullopt));
    const DrawnTiles grid = grid_of(plan, 100000, 10000, 10000);
    REQUIRE(grid.grain_rows == 1);
    REQUIRE(grid.grain_columns == 1);
    std::map<int, int64_t> tiles, stored;
    for (const TileBlock& block : grid.blocks)
      tiles[block.group] += int64_t{block.rows} * block.columns;
    for (const tilepost_tile_t& tile : plan.tile_map().tiles)
      if (tile.row >= 0) ++stored[tile.group];
    CHECK(tiles == stored);
    CHECK(grid.ranks.size() == (plan.map.ranks > 1 ? 4u : 0u));
  }
}

TEST_CASE("a coarse map is no larger than asked for") {
  Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL, 40000);
  const DrawnTiles grid = grid_of(only(spec), 3, 50, 20);
  CHECK(grid.blocks.size() <= 3);
  CHECK(grid.rows() <= 50);
  CHECK(grid.columns() <= 20);
}

TEST_CASE("texts of users cannot leave their element") {
  Plan plan = only(spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL));
  plan.profile = "</text><script>\"&\x1b\xff";
  const std::string svg = draw_picture({plan});
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(says(elements_of(svg), "</text><script>\"&"));
  CHECK(xml_escaped("a<b>&\"c\"") == "a&lt;b&gt;&amp;&quot;c&quot;");
}

// Checks the colours on a bright background, then on a dark one.
TEST_CASE("later groups are brighter, for those who do not tell colours apart") {
  const std::string svg = Svg(10).finish(10, "", "");
  static const std::regex rule(R"(\.s(\d+)\{fill:#(..)(..)(..)\})");
  int expected = 0, schemes = 0;
  double last = 0;
  for (std::sregex_iterator match(svg.begin(), svg.end(), rule), end; match != end; ++match) {
    const auto linear = [&](int part) {
      return std::pow(std::stoi((*match)[part], nullptr, 16) / 255.0, 2.2);
    };
    const double lightness = 0.2126 * linear(2) + 0.7152 * linear(3) + 0.0722 * linear(4);
    REQUIRE(std::stoi((*match)[1]) == expected);
    if (expected > 0) CHECK(lightness > last);
    last = lightness;
    expected = (expected + 1) % kShades;
    schemes += expected == 0 ? 1 : 0;
  }
  CHECK(schemes == 2);
}

TEST_CASE("the picture says that there are more plans") {
  Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL);
  spec.archs.value = {Arch::sm_90a, Arch::sm_80};
  const std::vector<Plan> plans = plan(spec).plans;
  REQUIRE(plans.size() == 2);
  CHECK(says(elements_of(draw_picture(plans)), "first of 2 plans"));
  CHECK_FALSE(says(elements_of(draw_picture({plans[0]})), "first of"));
}

}  // namespace
}  // namespace tilepost::test
