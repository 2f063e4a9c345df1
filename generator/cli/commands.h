// What each verb does.
#pragma once

#include "generator/cli/options.h"
#include "generator/verify/verify.h"

namespace tilepost {

// Exit codes of the tool.
inline constexpr int kExitOk = 0;
inline constexpr int kExitRejected = 1;  // spec or kernel rejected, or a verification failed
inline constexpr int kExitUsage = 2;     // command line
inline constexpr int kExitIo = 3;        // a file could not be read or written, or memory ran out
inline constexpr int kExitBug = 70;      // internal error

// Runs the verb and returns the exit code.
int run_command(const Options& options);

// `tilepost bench`.
int bench_command(const Options& options, Diagnostics& diagnostics);

// What more than one verb reads from the command line: the specs (empty with the reason reported if
// one cannot be read) and the sweeps.
std::vector<Input> read_inputs(const Options& options, Diagnostics& diagnostics);
std::vector<Sweep> read_sweeps(const Options& options);

// `tilepost list`: patterns, archs, kernels, transports, flags, or all of them.
int run_list(const std::string& what);

}  // namespace tilepost
