// From a harness's records to an entry of a tuning file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/tune/tune_cases.h"

namespace tilepost {

// The entry of the case: the fastest of the programs, each of which has one plan. Nothing if none
// was measured. Reports programs whose results were wrong, which cannot win, and those that could
// not be made.
std::optional<TuningEntry> entry_of(const TuneCase& one,
                                    const std::vector<HarnessProgram>& programs,
                                    const BenchLog& log, Diagnostics& diagnostics);

// A line for each plan of the entry, the fastest first, and how much faster than the planner's
// choice it is. `choice`: MeasuredChoice::what of that.
std::string table_of(const TuneCase& one, const TuningEntry& entry, const std::string& choice);

}  // namespace tilepost
