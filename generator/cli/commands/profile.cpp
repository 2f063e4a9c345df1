#include "generator/profile/profile.h"

#include <fmt/format.h>

#include "generator/cli/commands.h"
#include "generator/cli/files.h"
#include "llvm/Support/FileSystem.h"

namespace tilepost {

int profile_command(const Options& options, Diagnostics& diagnostics) {
  ProfileOptions profile_options;
  int exit_code = kExitOk;
  if (!options.machine.empty()) {
    profile_options.base_machine = read_machine_of(options, diagnostics, exit_code);
    if (profile_options.base_machine == nullptr) return exit_code;
    profile_options.base = options.machine;
  }
  profile_options.output = options.output_file;
  profile_options.from = options.from;
  profile_options.without_peer_access = options.apart;
  profile_options.beside_others = options.beside_others;
  profile_options.no_run = options.no_run;
  profile_options.keep_dir = options.keep_dir;
  profile_options.jobs = options.jobs;
  profile_options.cache_dir = options.cache_dir;
  const std::string part = options.output_file + ".part";
  for (const std::string& path : {options.output_file, part, options.measurements})
    if (!path.empty() && !options.no_run && !can_write_file(path, diagnostics)) return kExitIo;
  ProfileResult result;
  exit_code = profile(profile_options, llvm::outs(), result, diagnostics);
  if (result.profile.empty()) return exit_code;
  if (!write_file(options.output_file, result.profile, diagnostics)) return kExitIo;
  if (!options.measurements.empty() &&
      !write_file(options.measurements, result.measurements, diagnostics))
    return kExitIo;
  if (options.from.empty()) llvm::sys::fs::remove(part);
  llvm::outs() << fmt::format("'{0}' is written; plan with --machine {0}\n", options.output_file);
  return exit_code;
}

}  // namespace tilepost
