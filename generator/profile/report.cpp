#include "generator/profile/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tilepost {
namespace {

constexpr size_t kWidth = 112;

// "name: a, b, c", wrapped, with the other lines indented.
void add_wrapped(std::vector<std::string>& lines, const std::string& lead,
                 const std::vector<std::string>& items) {
  std::string line = lead;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    if (line.size() + 1 + item.size() > kWidth) {
      lines.push_back(line);
      line = "   ";
    }
    line += " " + item;
  }
  lines.push_back(line);
}

// The shortest prefix of the path below which nothing was measured.
std::string widest_untouched(const std::string& path, const std::vector<std::string>& all,
                             const FitReport& report) {
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    const std::string prefix = path.substr(0, dot + 1);
    const bool touched = std::ranges::any_of(all, [&](const std::string& other) {
      return other.starts_with(prefix) &&
             (report.is_measured(other) || report.why_taken(other) != report.why_taken(path));
    });
    if (!touched) return path.substr(0, dot);
  }
  return path;
}

// Fields with the base's value, by the reason, in the order of the profile. Sections of which all
// fields have it stand for these.
std::vector<std::pair<std::string, std::vector<std::string>>> taken_by_reason(
    const MachineProfile& profile, const FitReport& report) {
  const std::vector<std::string> all = machine_paths(profile);
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const std::string& path : all) {
    if (report.is_measured(path)) continue;
    const std::string reason = report.why_taken(path);
    const std::string shown = widest_untouched(path, all, report);
    auto found =
        std::ranges::find_if(reasons, [&](const auto& each) { return each.first == reason; });
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {reason, {}});
    if (found->second.empty() || found->second.back() != shown) found->second.push_back(shown);
  }
  return reasons;
}

std::string percent(double part) {
  return fmt::format("{:.1f} %", 100 * part);
}

}  // namespace

std::vector<std::string> profile_table(const MachineProfile& profile,
                                       const Measurements& measurements, const FitReport& report,
                                       const std::string& base) {
  const Measurement& machine = measurements.machine;
  std::vector<std::string> lines = {
      fmt::format("machine: {} (driver {}, CUDA {}, NCCL {})", profile.name, machine.text("driver"),
                  machine.text("cuda"), machine.text("nccl")),
      fmt::format("{:<62}{:>12}{:>12}{:>8}", "fitted to measurements, judged by those held out",
                  "fitted to", "mean error", "worst")};
  for (const FitPart& part : report.parts)
    lines.push_back(fmt::format("{:<62}{:>12}{:>12}{:>8}", part.what, part.fitted,
                                percent(part.error.mean), percent(part.error.worst)));
  for (const std::string& absent : report.absent) lines.push_back("not there: " + absent);
  for (const auto& [step, text] : measurements.failed)
    lines.push_back(fmt::format("not measured: {}: {}", step, text));
  for (const auto& [reason, paths] : taken_by_reason(profile, report))
    add_wrapped(lines, fmt::format("taken from {} ({}):", base, reason), paths);
  return lines;
}

MachineNotes profile_notes(const MachineProfile& profile, const Measurements& measurements,
                           const FitReport& report, const std::string& base,
                           const std::string& revision) {
  MachineNotes notes;
  notes.head.push_back("Measured by tilepost profile" +
                       (revision.empty() ? std::string(".") : ", revision " + revision + "."));
  for (const std::string& line : profile_table(profile, measurements, report, base))
    notes.head.push_back(line);
  for (const std::string& path : machine_paths(profile))
    if (!report.is_measured(path)) notes.of_field[path] = "taken from " + base;
  return notes;
}

}  // namespace tilepost
