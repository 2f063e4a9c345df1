// Makes a machine's profile of what was measured on it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/plan/machine/profile.h"
#include "generator/profile/fit/measurement.h"
#include "generator/profile/fit/optimizer.h"

namespace tilepost {

// What one part of the model was fitted to, and how far it is off where nothing was fitted.
struct FitPart {
  std::string what;  // "gemm_sm90, 21 constants"
  FitError error;
  int fitted = 0;  // measurements that it was fitted to
};

struct FitReport {
  std::vector<FitPart> parts;
  // Fields that were measured: dotted paths as in the profile's text. A path stands for all fields
  // below it.
  std::vector<std::string> measured;
  // Why others were not, by the path that they begin with.
  std::map<std::string, std::string> taken;
  std::vector<std::string> absent;  // what the machine does not have, in words

  bool is_measured(const std::string& path) const;
  // Why the field of this path has the base's value; "" if it was measured.
  std::string why_taken(const std::string& path) const;
};

// The profile of the measured machine. What was not measured is as in `base`.
MachineProfile fit_machine(const MachineProfile& base, const Measurements& measurements,
                           FitReport& report);

// ---- The parts of fit_machine, each with what it needs of the ones before

void fit_chip(const Measurements& measurements, MachineProfile& profile, FitReport& report);
void fit_gemms(const Measurements& measurements, MachineProfile& profile, FitReport& report);
void fit_collectives(const Measurements& measurements, MachineProfile& profile, FitReport& report);
void fit_links(const Measurements& measurements, MachineProfile& profile, FitReport& report);

}  // namespace tilepost
