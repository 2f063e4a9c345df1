// What each verb does.
#pragma once

#include <exception>

#include "generator/cli/json_output.h"
#include "generator/cli/options.h"
#include "generator/verify/verify.h"

namespace tilepost {

// Exit codes of the tool.
inline constexpr int kExitOk = 0;
inline constexpr int kExitRejected = 1;  // spec or kernel rejected, or a verification failed
inline constexpr int kExitUsage = 2;     // command line
inline constexpr int kExitIo = 3;        // a file could not be read or written, or memory ran out
inline constexpr int kExitNotRun = 4;    // verify: another kernel stood in for the user's own
inline constexpr int kExitBug = 70;      // internal error
inline constexpr int kExitSignal = 128;  // plus the signal that asked to stop, as shells do

// Runs the verb and returns the exit code. With --json prints one document, whatever happens.
int run_command(const Options& options);

// Says what is wrong with the command line, and returns the exit code.
int refuse_usage(const Options& options, const std::vector<std::string>& mistakes);

// The message for an internal error.
std::string internal_error(const std::exception& error);

// `tilepost generate`.
int generate_command(const Options& options, Diagnostics& diagnostics);

// `tilepost explain`. Prints the plan, or fills in `document` if there is one.
int explain_command(const Options& options, Diagnostics& diagnostics, JsonDocument* document);

// `tilepost explain` of several cases: a table with a line for each, or the same in `document`.
int explain_cases(const Options& options, const std::vector<Case>& cases, Diagnostics& diagnostics,
                  JsonDocument* document);

// `tilepost bench`.
int bench_command(const Options& options, Diagnostics& diagnostics);

// `tilepost tune`.
int tune_command(const Options& options, Diagnostics& diagnostics);
// `tilepost profile`.
int profile_command(const Options& options, Diagnostics& diagnostics);
// `tilepost catalogue`.
int catalogue_command(const Options& options, Diagnostics& diagnostics);

// These read parts of the command line that several verbs use.

// Reads the specs. Returns none if one cannot be read, or if a sweep is of no field; then the
// reason is reported and `exit_code` is set.
std::vector<Input> read_inputs(const Options& options, Diagnostics& diagnostics, int& exit_code);
// Reads the machine of --machine, which is a name or a file. Returns the usual machine without the
// flag, and null if there is none of that name; then the reason is reported and `exit_code` is set.
std::shared_ptr<const Machine> read_machine_of(const Options& options, Diagnostics& diagnostics,
                                               int& exit_code);
// Reads a tuning file. Returns null, with the reason reported and `exit_code` set, if it cannot be
// read or has faults.
std::shared_ptr<TuningFile> read_tuning_file(const std::string& path, Diagnostics& diagnostics,
                                             int& exit_code);

// `tilepost list`: patterns, archs, kernels, transports, flags, variants, or all but the last.
// Prints it, or fills in `document` if there is one.
int list_command(const Options& options, Diagnostics& diagnostics, JsonDocument* document);

}  // namespace tilepost
