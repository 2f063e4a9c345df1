// What copy engines and kernels move between GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "generator/profile/fit/fit.h"
#include "runtime/map/host_rings.h"

namespace tilepost {
namespace {

constexpr double kMib = 1 << 20;

// Copies: a time for each piece, one for a MiB, and one for all.
struct CopyLine {
  double once_us = 5, piece_us = 2, us_per_mib = 3;
  double predict(double pieces, double bytes) const {
    return once_us + piece_us * (pieces - 1) + us_per_mib * bytes / kMib;
  }
};

std::optional<CopyLine> fit_copies(const Measurements& measurements, const std::string& how,
                                   int ranks, FitReport& report) {
  std::vector<Observation<CopyLine>> observations;
  CopyLine line;
  for (const Measurement* time : measurements.select("copy", [&](const Measurement& each) {
         return each.text("how") == how && each["ranks"] == ranks;
       })) {
    const double bytes = (*time)["bytes"], us = (*time)["us"];
    const double pieces = std::max(1.0, bytes / std::max(1.0, (*time)["chunk"]));
    line.us_per_mib = us * kMib / bytes;
    observations.push_back(
        {us, [pieces, bytes](const CopyLine& at) { return at.predict(pieces, bytes); },
         static_cast<uint64_t>(bytes + pieces), 1});
  }
  if (observations.size() < 3) return std::nullopt;
  const FitError error = fit<CopyLine>(
      line,
      {{"once_us", [](CopyLine& at) -> double& { return at.once_us; }, 0, 1e4},
       {"piece_us", [](CopyLine& at) -> double& { return at.piece_us; }, 0, 1e4},
       {"us_per_mib", [](CopyLine& at) -> double& { return at.us_per_mib; }, 1e-3, 1e5}},
      observations);
  report.parts.push_back({fmt::format("copies that {} on {} GPUs, 3 constants", how, ranks), error,
                          static_cast<int>(observations.size())});
  return line;
}

std::set<int, std::greater<>> teams(const Measurements& measurements) {
  std::set<int, std::greater<>> ranks;
  for (const Measurement* time : measurements.select("copy"))
    ranks.insert(static_cast<int>((*time)["ranks"]));
  return ranks;
}

// The other points of a table keep their ratio to it.
void set_and_scale(std::vector<ProfilePoint>& table, double x, double y) {
  const double before = interpolate(table, x);
  for (ProfilePoint& point : table) point.y *= before > 0 ? y / before : 1;
  for (ProfilePoint& point : table)
    if (point.x == x) return;
  const auto place =
      std::ranges::find_if(table, [&](const ProfilePoint& point) { return point.x > x; });
  table.insert(place, {x, y});
}

double flag_us(const Measurements& measurements) {
  const auto flags = measurements.select(
      "copy", [](const Measurement& time) { return time.text("how") == "flag"; });
  return flags.empty() ? 0 : (*flags.back())["us"];
}

void fit_pulls(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  CopyProfile& copies = profile.peers.copies;
  for (const int ranks : teams(measurements)) {
    const auto pulls = fit_copies(measurements, "pull", ranks, report);
    if (!pulls) continue;
    set_and_scale(copies.us_per_mib, ranks, pulls->us_per_mib);
    report.measured.emplace_back("peers.copies.us_per_mib");
    // A group is announced to the ranks that copy it, which wait as for a counter.
    copies.latency_us = pulls->once_us + flag_us(measurements) + profile.collectives.wait_us;
    report.measured.emplace_back("peers.copies.latency_us");
  }
}

void fit_pushes(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  CopyProfile& copies = profile.peers.copies;
  double fastest = 0;
  for (const int ranks : teams(measurements)) {
    const auto pushes = fit_copies(measurements, "push", ranks, report);
    if (!pushes) continue;
    set_and_scale(copies.rows_us_per_mib, ranks, pushes->us_per_mib);
    copies.push_us = pushes->piece_us;
    fastest = std::max(fastest, kMib / pushes->us_per_mib);
    for (const char* field : {"peers.copies.rows_us_per_mib", "peers.copies.push_us"})
      report.measured.emplace_back(field);
  }
  if (fastest == 0) return;
  profile.peers.link_bytes_per_us = fastest;
  report.measured.emplace_back("peers.link_bytes_per_us");
}

void fit_beside(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  CopyProfile& copies = profile.peers.copies;
  for (const Measurement* time : measurements.select("copies_beside")) {
    const double alone = (*time)["gemm_alone_us"], beside = (*time)["gemm_us"];
    if (time->text("how") == "pull") {
      copies.beside_copies = std::max(1.0, beside / alone);
      report.measured.emplace_back("peers.copies.beside_copies");
    } else if (time->text("how") == "push" && (*time)["bytes"] > 0) {
      const double ranks = (*time)["ranks"];
      const double slower = std::max(0.0, beside - alone) * kMib / (*time)["bytes"];
      std::erase_if(copies.slow_us_per_mib,
                    [&](const ProfilePoint& point) { return point.x == ranks; });
      const auto place = std::ranges::find_if(
          copies.slow_us_per_mib, [&](const ProfilePoint& point) { return point.x > ranks; });
      copies.slow_us_per_mib.insert(place, {ranks, slower});
      report.measured.emplace_back("peers.copies.slow_us_per_mib");
    }
  }
}

// Stores of whole kernels. What tiles and sums share changes with what stores take alone.
void fit_stores(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  StoreProfile& stores = profile.peers.stores;
  for (const int ranks : teams(measurements)) {
    const auto line = fit_copies(measurements, "store", ranks, report);
    if (!line) continue;
    const double factor = line->us_per_mib / stores.us_per_mib;
    stores.us_per_mib = line->us_per_mib;
    for (ProfilePoint& point : stores.both_us_per_mib) point.y *= factor;
    for (const char* field : {"peers.stores.us_per_mib", "peers.stores.both_us_per_mib"})
      report.measured.emplace_back(field);
    return;  // that of the most ranks
  }
}

// ---- Through pinned host memory

constexpr auto kHostChunk = static_cast<double>(kHostChunkBytes);  // the largest that plans have

// The most time of all pairs, for plans hold on every pair: a line over what two GPUs send to each
// other at once.
std::optional<CopyLine> fit_host_paths(const Measurements& measurements, FitReport& report) {
  std::map<double, double> slowest;
  for (const Measurement* time : measurements.select(
           "host_path", [](const Measurement& each) { return each["chunk"] == kHostChunk; })) {
    double& us = slowest[(*time)["bytes"]];
    us = std::max(us, (*time)["us"]);
  }
  if (slowest.size() < 3) return std::nullopt;
  CopyLine line;
  std::vector<Observation<CopyLine>> observations;
  for (const auto& [bytes, us] : slowest) {
    line.us_per_mib = us * kMib / bytes;
    observations.push_back({us,
                            [bytes = bytes](const CopyLine& at) { return at.predict(1, bytes); },
                            static_cast<uint64_t>(bytes), 1});
  }
  const FitError error = fit<CopyLine>(
      line,
      {{"once_us", [](CopyLine& at) -> double& { return at.once_us; }, 0, 1e4},
       {"us_per_mib", [](CopyLine& at) -> double& { return at.us_per_mib; }, 1e-3, 1e5}},
      observations);
  report.parts.push_back(
      {"copies through host memory, 2 constants", error, static_cast<int>(observations.size())});
  return line;
}

// us for a MiB that each of `ranks` GPUs sends to the host and takes from it at once, in the best
// of the chunks that are as large as those of plans; 0 if not measured. What one GPU sends to
// another takes less if it goes through buffers that the host's caches hold, which programs cannot
// count on.
double host_us_per_mib(const Measurements& measurements, double ranks) {
  double least = 0;
  for (const Measurement* time : measurements.select("host"))
    if (time->text("how") == "both" && (*time)["ranks"] == ranks && (*time)["chunk"] >= kHostChunk)
      least = least == 0 ? (*time)["us_per_mib"] : std::min(least, (*time)["us_per_mib"]);
  return least;
}

void fit_host_copies(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  HostCopyProfile& copies = profile.peers.host_copies;
  const std::string path = "peers.host_copies.";
  const auto line = fit_host_paths(measurements, report);
  if (measurements.gpus() > 1 && !line) {
    copies.available = false;
    report.measured.push_back(path + "available");
    report.absent.emplace_back("copies through pinned host memory: they failed");
  }
  if (line) {
    copies.available = true;
    const double two = host_us_per_mib(measurements, 2);
    const double us_per_mib = std::max(line->us_per_mib, two);
    copies.us_per_mib = {{2, us_per_mib}};
    // More GPUs share the bridge to the host: by as much as their copies to it and from it do.
    std::set<double> ranks;
    for (const Measurement* time : measurements.select("host")) ranks.insert((*time)["ranks"]);
    for (const double more : ranks)
      if (const double theirs = host_us_per_mib(measurements, more);
          more > 2 && two > 0 && theirs > 0)
        copies.us_per_mib.push_back({more, us_per_mib * theirs / two});
    // A message has two chunks at least.
    copies.chunk_us = us_per_mib * kHostChunk / 2 / kMib;
    if (!profile.peers.peer_access) {
      profile.peers.link_bytes_per_us = kMib / us_per_mib;
      report.measured.emplace_back("peers.link_bytes_per_us");
    }
    for (const char* field : {"available", "us_per_mib", "chunk_us"})
      report.measured.push_back(path + field);
  }
  for (const Measurement* time : measurements.select("copies_beside"))
    if (time->text("how") == "host") {
      copies.beside_copies = std::max(1.0, (*time)["gemm_us"] / (*time)["gemm_alone_us"]);
      report.measured.push_back(path + "beside_copies");
    }
}

// Whether GPUs reach each other, all of them: plans rely on every pair.
void fit_pairs(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  const auto pairs = measurements.select("pair");
  if (pairs.empty()) return;
  std::string missing;
  for (const Measurement* pair : pairs)
    if ((*pair)["reaches"] == 0)
      missing +=
          fmt::format("{}{} to {}", missing.empty() ? "" : ", ", (*pair)["to"], (*pair)["from"]);
  profile.peers.peer_access = missing.empty();
  report.measured.emplace_back("peers.peer_access");
  if (!missing.empty()) report.absent.push_back("peer access: from GPU " + missing);
}

}  // namespace

void fit_links(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  fit_pairs(measurements, profile, report);
  fit_host_copies(measurements, profile, report);
  fit_pulls(measurements, profile, report);
  fit_pushes(measurements, profile, report);
  fit_stores(measurements, profile, report);
  fit_beside(measurements, profile, report);
}

}  // namespace tilepost
