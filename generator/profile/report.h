// What `tilepost profile` says: a table for people, and comments in the profile.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/machine/text.h"
#include "generator/profile/fit/fit.h"

namespace tilepost {

// The lines of the table: the machine, what was fitted and how far it is off, what the machine does
// not have, and what has the base's value with the reason.
std::vector<std::string> profile_table(const MachineProfile& profile,
                                       const Measurements& measurements, const FitReport& report,
                                       const std::string& base);

// The same as comments of the profile's text, and at each field that has the base's value that it
// has.
MachineNotes profile_notes(const MachineProfile& profile, const Measurements& measurements,
                           const FitReport& report, const std::string& base,
                           const std::string& revision);

}  // namespace tilepost
