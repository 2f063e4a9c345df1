// What the chip does by itself.
#include <algorithm>
#include <cmath>

#include "generator/profile/fit/fit.h"

namespace tilepost {
namespace {

// The value of a measurement by its kind and name; 0 if there is none.
double value_of(const Measurements& measurements, const char* kind, const std::string& name) {
  const auto found =
      measurements.select(kind, [&](const Measurement& time) { return time.text("name") == name; });
  return found.empty() ? 0 : (*found.back())["value"];
}

void take(double value, double& field, const char* path, FitReport& report) {
  if (!(value > 0)) return;
  field = value;
  report.measured.emplace_back(path);
}

}  // namespace

void fit_chip(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  const auto chip = [&](const char* name) { return value_of(measurements, "chip", name); };
  // Waves are compared with those of a GEMM that leaves a collective some SMs.
  const double sms = measurements.machine["sms"];
  if (profile.chip.clock_sms > sms || profile.chip.clock_sms < 0.8 * sms)
    profile.chip.clock_sms = std::max(1.0, sms - 4);
  profile.chip.sms = static_cast<int64_t>(sms);
  for (const char* field : {"chip.sms", "chip.clock_sms"}) report.measured.emplace_back(field);
  take(chip("max_ghz"), profile.chip.max_ghz, "chip.max_ghz", report);
  take(chip("memory_bytes_per_us"), profile.chip.memory_bytes_per_us, "chip.memory_bytes_per_us",
       report);
  take(chip("copy_bytes_per_us"), profile.chip.copy_bytes_per_us, "chip.copy_bytes_per_us", report);
  take(chip("sum_bytes_per_us"), profile.peers.sums.memory_bytes_per_us,
       "peers.sums.memory_bytes_per_us", report);
  take(chip("sm_sum_bytes_per_us"), profile.peers.sums.sm_bytes_per_us,
       "peers.sums.sm_bytes_per_us", report);
  std::vector<ProfilePoint> resident;
  for (const Measurement* clusters : measurements.select("clusters"))
    if ((*clusters)["ctas"] > 2 && (*clusters)["sms"] > 0)
      resident.push_back({(*clusters)["ctas"], (*clusters)["sms"]});
  std::ranges::sort(resident, {}, &ProfilePoint::x);
  if (!resident.empty()) {
    profile.chip.resident_sms = resident;
    report.measured.emplace_back("chip.resident_sms");
  }
  take(value_of(measurements, "wait", "poll"), profile.collectives.wait_us, "collectives.wait_us",
       report);
  take(value_of(measurements, "wait", "stream"), profile.collectives.stream_wait_us,
       "collectives.stream_wait_us", report);
  take(value_of(measurements, "wait", "step"), profile.collectives.step_us, "collectives.step_us",
       report);
}

}  // namespace tilepost
