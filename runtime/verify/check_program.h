// Checks one program: runs it on all ranks with fresh data and compares every output.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/verify/check_result.h"
#include "runtime/verify/options.h"
#include "runtime/verify/registry.h"
#include "runtime/verify/run/world.h"

namespace tilepost::verify {

// A label such as "attn_out  host  4 ranks  129x64x7 f16 panel 3 groups".
std::string program_label(const Entry& entry, const tilepost_plan_t& plan);

// How many seconds any wait of the program's runs may take.
double deadline_of(const tilepost_plan_t& plan, const World& world, const HarnessOptions& options);

// Runs the exact check, then the random check, up to the first that fails.
//
// The exact check has options.runs runs, or as many as there are numbers of rows and routes to
// check. The random check has one run or a few. It is left out if the kernel is the user's own
// (`own`, else null). Such a kernel may round its sums in any way, so there is no bound. A kernel
// that reads data whose form only it knows is compared with itself, launched in its author's way.
//
// `seed` is this program's own. `alive(runs)` is called whenever more runs have been started or
// compared.
std::vector<CheckResult> check_program(const tilepost_program_t& program,
                                       const tilepost_plan_t& plan, World& world,
                                       const HarnessOptions& options, uint64_t seed,
                                       const harness::PlainLaunch* own,
                                       const std::function<void(int)>& alive);

}  // namespace tilepost::verify
