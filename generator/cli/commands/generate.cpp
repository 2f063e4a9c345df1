// `tilepost generate`: the program of a spec, or one for each of several shapes.
#include <fmt/format.h>

#include <set>

#include "generator/bundle/bundle.h"
#include "generator/bundle/folder.h"
#include "generator/cli/commands.h"
#include "generator/cli/files.h"
#include "generator/harness/progress.h"
#include "generator/whole_files.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

void print_paths(const std::string& dir, const std::vector<OutputFile>& files) {
  for (const OutputFile& file : files) llvm::outs() << joined(dir, file.name) << "\n";
}

int bundle_command(const Options& options, const std::vector<Input>& inputs,
                   Diagnostics& diagnostics) {
  const std::vector<OutputFile> files =
      make_bundle(inputs, options.sweeps, options.shapes, diagnostics);
  if (files.empty()) return kExitRejected;
  if (options.dry_run) {
    print_paths(options.bundle, files);
    return kExitOk;
  }
  return write_bundle(options.bundle, files, diagnostics) ? kExitOk : kExitIo;
}

// The programs of all cases, whose names end with what the cases differ in. No files after an
// error.
Generated generate_all(const std::vector<Case>& cases, Diagnostics& diagnostics) {
  Generated all;
  std::set<std::string> names, sources;
  Progress progress;
  for (size_t i = 0; i < cases.size() && diagnostics.errors() < Diagnostics::kMaxErrors; ++i) {
    progress.update("generating", i, cases.size());
    Generated one = generate_from(cases[i].named(), diagnostics);
    if (one.files.empty() && !cases[i].varied.empty())
      diagnostics.note({}, "with " + cases[i].varied);
    for (OutputFile& file : one.files) {
      const bool taken = !names.insert(file.name).second;
      if (taken && file.name.ends_with(".h"))
        diagnostics.error(fmt::format(
            "'{}' would be written twice, also with {}; name every shape and value once", file.name,
            cases[i].varied));
      all.files.push_back(std::move(file));
    }
    for (std::string& source : one.sources)
      if (sources.insert(source).second) all.sources.push_back(std::move(source));
  }
  if (!diagnostics.ok()) all.files.clear();
  return all;
}

}  // namespace

int generate_command(const Options& options, Diagnostics& diagnostics) {
  int exit_code = kExitOk;
  const std::vector<Input> inputs = read_inputs(options, diagnostics, exit_code);
  if (inputs.empty()) return exit_code;
  if (!options.bundle.empty()) return bundle_command(options, inputs, diagnostics);
  const auto [files, sources] =
      generate_all(expand(inputs, options.sweeps, options.shapes), diagnostics);
  if (files.empty()) return kExitRejected;
  if (options.dry_run) {
    print_paths(options.output_dir, files);
    return kExitOk;
  }
  if (!options.depfile.empty() &&
      !check_depfile(options.depfile, options.output_dir, files, sources, diagnostics))
    return kExitUsage;
  if (!write_files(options.output_dir, files, diagnostics)) return kExitIo;
  if (!options.depfile.empty()) {
    const std::string rule = make_depfile(options.output_dir, files, sources);
    if (!write_file(options.depfile, rule, diagnostics)) return kExitIo;
  }
  return kExitOk;
}

}  // namespace tilepost
