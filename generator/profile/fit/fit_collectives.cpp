// NCCL's collectives: a latency, and a time for a MiB by CTAs and ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "generator/profile/fit/fit.h"

namespace tilepost {
namespace {

constexpr double kMib = 1 << 20;
// Groups of plans have from about one to some tens of MiB. Below a MiB NCCL has other protocols.
constexpr double kLeastBytes = kMib;

struct NamedCollective {
  const char* name;  // of measurements
  Collective collective;
};
constexpr NamedCollective kNamed[] = {{"all_reduce", Collective::all_reduce},
                                      {"reduce_scatter", Collective::reduce_scatter},
                                      {"all_gather", Collective::all_gather},
                                      {"all_to_all", Collective::all_to_all}};

// A line through times: latency_us, and us for a MiB with each number of CTAs.
struct Lines {
  double latency_us = 0;
  std::map<int, double> us_per_mib;

  double predict(int ctas, double bytes) const {
    return latency_us + us_per_mib.at(ctas) * bytes / kMib;
  }
};

std::vector<const Measurement*> times_of(const Measurements& measurements, const std::string& how,
                                         const std::string& name, int ranks) {
  return measurements.select("collective", [&](const Measurement& time) {
    return time.text("how") == how && time.text("name") == name && time["ranks"] == ranks &&
           time["bytes"] >= kLeastBytes;
  });
}

// Measured sizes are held out as a whole, so that the lines are judged between those they are
// fitted to.
uint64_t group_of(const Measurement& time) {
  const double bytes = time["bytes"];
  const bool held_out = bytes == 8 * kMib || bytes == 64 * kMib;
  for (uint64_t group = static_cast<uint64_t>(bytes);; ++group)
    if (is_held_out(group) == held_out) return group;
}

std::optional<Lines> fit_lines(const std::vector<const Measurement*>& times,
                               const std::string& what, FitReport& report) {
  if (times.size() < 3) return std::nullopt;
  Lines lines;
  lines.latency_us = 20;
  std::vector<Observation<Lines>> observations;
  for (const Measurement* time : times) {
    const int ctas = static_cast<int>((*time)["ctas"]);
    const double bytes = (*time)["bytes"], us = (*time)["us"];
    // The first guess of a slope: the largest message's time.
    lines.us_per_mib[ctas] = us * kMib / bytes;
    observations.push_back({us, [ctas, bytes](const Lines& at) { return at.predict(ctas, bytes); },
                            group_of(*time), 1});
  }
  std::vector<FitParameter<Lines>> parameters = {
      {"latency_us", [](Lines& at) -> double& { return at.latency_us; }, 0.5, 1e5}};
  for (const auto& [ctas, slope] : lines.us_per_mib)
    parameters.push_back({"us_per_mib",
                          [ctas = ctas](Lines& at) -> double& { return at.us_per_mib.at(ctas); },
                          1e-3, 1e5});
  const FitError error = fit(lines, parameters, observations);
  report.parts.push_back(
      {fmt::format("{}, {} constants", what, parameters.size()), error,
       static_cast<int>(std::ranges::count_if(
           observations, [](const auto& seen) { return !is_held_out(seen.group); }))});
  return lines;
}

// Puts y at x into a table. Other points of the base keep their ratio to what it had there.
void set_scaled(std::vector<ProfilePoint>& table, double x, double y,
                const std::set<double>& measured) {
  const double before = interpolate(table, x);
  const double factor = before > 0 ? y / before : 1;
  for (ProfilePoint& point : table)
    if (!measured.contains(point.x)) point.y *= factor;
  const auto place =
      std::ranges::find_if(table, [&](const ProfilePoint& point) { return point.x >= x; });
  if (place != table.end() && place->x == x)
    place->y = y;
  else
    table.insert(place, {x, y});
}

double part_sent(double sent, double ranks) {
  return sent * (ranks - 1) / ranks;
}

// Times of all numbers of ranks, the most first.
void set_lines(const std::vector<std::pair<int, Lines>>& by_ranks, CollectiveProfile& profile) {
  std::set<double> measured = {1};
  for (const auto& [ranks, lines] : by_ranks) {
    double floor = 1e30;
    for (const auto& [ctas, slope] : lines.us_per_mib) floor = std::min(floor, slope);
    if (measured.size() == 1) {
      profile.us_per_mib.clear();
      for (const auto& [ctas, slope] : lines.us_per_mib)
        profile.us_per_mib.push_back({static_cast<double>(ctas), slope});
    }
    set_scaled(profile.latency_us, ranks, lines.latency_us, measured);
    set_scaled(profile.wire_us_per_mib, ranks, floor / part_sent(profile.sent, ranks), measured);
    measured.insert(ranks);
  }
}

// The one collective of a run without overlap: as groups have it, but with what NCCL takes by
// itself where default_ctas is asked for.
void set_sequence(const std::vector<std::pair<int, Lines>>& by_ranks, int default_ctas,
                  CollectiveProfile& profile) {
  std::set<double> measured = {1};
  for (const auto& [ranks, lines] : by_ranks) {
    const double slope = lines.us_per_mib.begin()->second;
    if (measured.size() == 1) profile.us_per_mib = {{static_cast<double>(default_ctas), slope}};
    set_scaled(profile.latency_us, ranks, lines.latency_us, measured);
    set_scaled(profile.wire_us_per_mib, ranks, slope / part_sent(profile.sent, ranks), measured);
    measured.insert(ranks);
  }
}

std::vector<int> teams(const Measurements& measurements) {
  std::set<int, std::greater<>> ranks;
  for (const Measurement* time : measurements.select("collective"))
    ranks.insert(static_cast<int>((*time)["ranks"]));
  return {ranks.begin(), ranks.end()};
}

std::vector<std::pair<int, Lines>> lines_of(const Measurements& measurements, const char* how,
                                            const char* name, FitReport& report) {
  std::vector<std::pair<int, Lines>> by_ranks;
  for (const int ranks : teams(measurements)) {
    const auto lines = fit_lines(times_of(measurements, how, name, ranks),
                                 fmt::format("{} ({}) on {} GPUs", name, how, ranks), report);
    if (lines) by_ranks.emplace_back(ranks, *lines);
  }
  return by_ranks;
}

void note(FitReport& report, const std::string& path, std::initializer_list<const char*> fields) {
  for (const char* field : fields) report.measured.push_back(path + "." + field);
}

using LinesByRanks = std::vector<std::pair<int, Lines>>;

// Puts lines into a section of the profile, if it has the collective.
void set_in(CollectiveProfiles& profiles, const std::string& path, Collective collective,
            const LinesByRanks& lines, FitReport& report) {
  const auto found = profiles.find(collective);
  if (found == profiles.end() || lines.empty()) return;
  set_lines(lines, found->second);
  note(report, path, {"us_per_mib", "latency_us", "wire_us_per_mib"});
}

// Groups and symmetric windows. Without windows NCCL takes ordinary buffers, and their times.
void fit_groups(const NamedCollective& named, const LinesByRanks& ring,
                const LinesByRanks& symmetric, CollectivesProfile& all, FitReport& report) {
  const LinesByRanks& windows = symmetric.empty() ? ring : symmetric;
  const auto set_both = [&](Collective collective, const std::string& name) {
    set_in(all.groups, "collectives.groups." + name, collective, ring, report);
    set_in(all.symmetric, "collectives.symmetric." + name, collective, windows, report);
  };
  set_both(named.collective, named.name);
  // Chunks of A are sends and receives too.
  if (named.collective == Collective::all_to_all) set_both(Collective::chunks, "chunks");
}

void fit_alone(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  CollectivesProfile& all = profile.collectives;
  bool has_windows = false;
  for (const NamedCollective& named : kNamed) {
    const LinesByRanks plain = lines_of(measurements, "default", named.name, report);
    const LinesByRanks symmetric = lines_of(measurements, "symmetric", named.name, report);
    has_windows = has_windows || !symmetric.empty();
    fit_groups(named, lines_of(measurements, "ring", named.name, report), symmetric, all, report);
    if (plain.empty()) continue;
    set_sequence(plain, all.default_ctas, all.sequence.at(named.collective));
    note(report, fmt::format("collectives.sequence.{}", named.name),
         {"us_per_mib", "latency_us", "wire_us_per_mib"});
  }
  const std::vector<int> ranks = teams(measurements);
  if (ranks.empty()) return;
  if (!has_windows)
    report.absent.emplace_back("NCCL's symmetric windows: their times are those of other memory");
  all.most_ranks = ranks.front();
  report.measured.emplace_back("collectives.most_ranks");
}

// ---- Beside a GEMM

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void fit_one_lane(const Measurements& measurements, int ranks, MachineProfile& profile,
                  FitReport& report) {
  std::vector<double> slower;
  for (const NamedCollective& named : kNamed) {
    std::vector<ProfilePoint> points;
    for (const Measurement* time : measurements.select("beside", [&](const Measurement& each) {
           return each.text("name") == named.name && each["ranks"] == ranks && each["lanes"] == 1;
         })) {
      points.push_back({(*time)["ctas"], std::max(1.0, (*time)["us"] / (*time)["alone_us"])});
      slower.push_back((*time)["gemm_us"] / (*time)["gemm_alone_us"]);
    }
    std::ranges::sort(points, {}, &ProfilePoint::x);
    const auto found = profile.collectives.groups.find(named.collective);
    if (points.empty() || found == profile.collectives.groups.end()) continue;
    found->second.beside_gemm = points;
    report.measured.push_back(fmt::format("collectives.groups.{}.beside_gemm", named.name));
  }
  if (slower.empty()) return;
  profile.gemm.beside_collective = std::max(1.0, median(slower));
  report.measured.emplace_back("gemm.beside_collective");
}

// What several lanes alone take of a collective's time for a byte, as the model has it: that of one
// lane with a part of their CTAs.
void fit_lanes(const Measurements& measurements, int ranks, MachineProfile& profile,
               FitReport& report) {
  CollectivesProfile& all = profile.collectives;
  std::map<double, std::vector<double>> beside;  // by CTAs of a lane
  const auto lanes = measurements.select("beside", [&](const Measurement& time) {
    return time["ranks"] == ranks && time["lanes"] == 2;
  });
  const auto cost = [&](double share) {
    double sum = 0;
    for (const Measurement* time : lanes)
      for (const NamedCollective& named : kNamed) {
        const auto found = all.groups.find(named.collective);
        if (time->text("name") != named.name || found == all.groups.end()) continue;
        const double slope =
            std::max(interpolate(found->second.us_per_mib, (*time)["ctas"] * share),
                     interpolate(found->second.wire_us_per_mib, ranks) *
                         part_sent(found->second.sent, ranks));
        const double latency =
            interpolate(found->second.latency_us, ranks) * found->second.lane_latency / 2;
        sum += cost_of(latency + slope * (*time)["bytes"] / kMib, (*time)["alone_us"]);
      }
    return sum;
  };
  for (const Measurement* time : lanes)
    beside[(*time)["ctas"] / 2].push_back(std::max(1.0, (*time)["us"] / (*time)["alone_us"]));
  if (lanes.empty()) return;
  double best = all.lane_share;
  for (double share = 0.3; share < 1.2; share += 0.01)
    if (cost(share) < 0.999 * cost(best)) best = share;
  all.lane_share = best;
  all.lane_beside_gemm.clear();
  for (const auto& [ctas, ratios] : beside) all.lane_beside_gemm.push_back({ctas, median(ratios)});
  note(report, "collectives", {"lane_share", "lane_beside_gemm"});
}

// GEMMs and collectives in turns, against GEMMs in a row (CollectivesProfile, relief).
void fit_relief(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  const auto found = measurements.select("relief");
  if (found.empty()) return;
  const Measurement& time = *found.back();
  const double turns = time["turns_us"], sent = time["collective_us"], hot = time["gemm_us"];
  profile.gemm.relief = std::clamp((1 - (turns - sent) / hot) * turns / sent, 0.0, 0.5);
  report.measured.emplace_back("gemm.relief");
}

// Budgets of few CTAs where these are not much slower than more. On slow links NCCL needs no more,
// and where the GEMM takes longest it gains from every SM.
void fit_choices(MachineProfile& profile, FitReport& report) {
  constexpr double kNotMuchSlower = 1.6;
  CollectivesProfile& all = profile.collectives;
  const std::vector<ProfilePoint>& slopes = all.groups.at(Collective::reduce_scatter).us_per_mib;
  std::vector<CommChoice> more;
  for (const int ctas : {2, 4, 6})
    if (interpolate(slopes, ctas) <= kNotMuchSlower * slopes.back().y) more.push_back({ctas, 1});
  if (!more.empty()) more.insert(more.end(), {{4, 2}, {8, 2}});
  std::erase_if(more, [&](const CommChoice& choice) {
    return std::ranges::any_of(all.choices, [&](const CommChoice& other) {
      return other.ctas == choice.ctas && other.lanes == choice.lanes;
    });
  });
  all.choices.insert(all.choices.begin(), more.begin(), more.end());
  report.measured.emplace_back("collectives.choices");
}

}  // namespace

void fit_collectives(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  fit_alone(measurements, profile, report);
  const std::vector<int> ranks = teams(measurements);
  if (ranks.empty()) return;
  fit_one_lane(measurements, ranks.front(), profile, report);
  fit_lanes(measurements, ranks.front(), profile, report);
  fit_relief(measurements, profile, report);
  fit_choices(profile, report);
}

}  // namespace tilepost
