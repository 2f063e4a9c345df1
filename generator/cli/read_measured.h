// Reads the file of tilepost_op_write_timeline, for `tilepost explain --measured`.
#pragma once

#include <optional>
#include <string>

#include "generator/diagnostics.h"
#include "generator/plan/plan.h"
#include "generator/plan/report/spans.h"

namespace tilepost {

// The run that the text of file `path` is of. Reports an error, and returns nothing, if the text is
// something else or the run was of another plan.
std::optional<Measured> read_measured(const std::string& path, const std::string& text,
                                      const Plan& plan, Diagnostics& diagnostics);

}  // namespace tilepost
