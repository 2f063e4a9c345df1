// The trace of `tilepost explain --trace`: Chrome's trace event format, which Perfetto opens.
#pragma once

#include <string>

#include "generator/plan/plan.h"
#include "generator/plan/report/spans.h"

namespace tilepost {

// A JSON object with `traceEvents`. The planned run is process 1, and the sequence, if the run
// overlaps, process 2. Threads are the GEMM, each lane of communication (in several threads where
// transfers of a lane overlap each other), and what is exposed; times are in us. Spans of a thread
// are in order and do not overlap. A measured run is the process behind these. "" where no times
// are predicted: on the host target.
std::string trace_of(const Plan& plan, const Measured* measured = nullptr);

}  // namespace tilepost
