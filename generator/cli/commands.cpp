#include "generator/cli/commands.h"

#include "generator/bundle/bundle.h"
#include "generator/bundle/folder.h"
#include "generator/cli/files.h"
#include "generator/diagnostic_printer.h"
#include "generator/driver.h"
#include "generator/plan/make_plan.h"
#include "generator/verify/verify.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

namespace tilepost {
namespace {

void print_paths(const std::string& dir, const std::vector<OutputFile>& files) {
  for (const OutputFile& file : files) {
    llvm::SmallString<256> path(dir);
    llvm::sys::path::append(path, file.name);
    llvm::outs() << path << "\n";
  }
}

int bundle_command(const Options& options, const std::vector<Input>& inputs,
                   Diagnostics& diagnostics) {
  const std::vector<OutputFile> files = make_bundle(inputs, diagnostics);
  if (files.empty()) return kExitRejected;
  if (options.dry_run) {
    print_paths(options.bundle, files);
    return kExitOk;
  }
  return write_bundle(options.bundle, files, diagnostics) ? kExitOk : kExitIo;
}

int generate_command(const Options& options, Diagnostics& diagnostics) {
  const std::vector<Input> inputs = read_inputs(options, diagnostics);
  if (inputs.empty()) return kExitIo;
  if (!options.bundle.empty()) return bundle_command(options, inputs, diagnostics);
  const std::vector<OutputFile> files = generate(inputs.front(), diagnostics);
  if (files.empty()) return kExitRejected;
  if (options.dry_run) {
    print_paths(options.output_dir, files);
    return kExitOk;
  }
  if (!options.depfile.empty() &&
      !check_depfile(options.depfile, options.output_dir, files, inputs.front().path, diagnostics))
    return kExitUsage;
  if (!write_files(options.output_dir, files, diagnostics)) return kExitIo;
  if (!options.depfile.empty()) {
    const std::string rule = make_depfile(options.output_dir, files, inputs.front().path);
    if (!write_file(options.depfile, rule, diagnostics)) return kExitIo;
  }
  return kExitOk;
}

int check_command(const Options& options, Diagnostics& diagnostics) {
  const std::vector<Input> inputs = read_inputs(options, diagnostics);
  if (inputs.empty()) return kExitIo;
  for (const Input& input : inputs) generate(input, diagnostics);
  return diagnostics.ok() ? kExitOk : kExitRejected;
}

int explain_command(const Options& options, Diagnostics& diagnostics) {
  const std::vector<Input> inputs = read_inputs(options, diagnostics);
  if (inputs.empty()) return kExitIo;
  const std::vector<Plan> plans = plan_input(inputs.front(), diagnostics);
  if (plans.empty()) return kExitRejected;
  for (const Plan& plan : plans) llvm::outs() << explain_plan(plan);
  return kExitOk;
}

int verify_command(const Options& options, Diagnostics& diagnostics) {
  const std::vector<Input> inputs = read_inputs(options, diagnostics);
  if (inputs.empty()) return kExitIo;
  VerifyOptions verify_options;
  verify_options.target = options.target == "cuda"   ? VerifyTarget::cuda
                          : options.target == "host" ? VerifyTarget::host
                                                     : VerifyTarget::automatic;
  verify_options.sweeps = read_sweeps(options);
  verify_options.seed = options.seed;
  verify_options.runs = options.runs;
  verify_options.run_rows = options.run_rows;
  verify_options.keep_dir = options.keep_dir;
  verify_options.jobs = options.jobs;
  verify_options.cache_dir = options.cache_dir;
  return verify(inputs, verify_options, llvm::outs(), diagnostics);
}

}  // namespace

std::vector<Input> read_inputs(const Options& options, Diagnostics& diagnostics) {
  std::vector<Input> inputs;
  for (const std::string& path : options.specs)
    if (std::optional<std::string> text = read_text(path, diagnostics))
      inputs.push_back({path, std::move(*text), options.overrides});
  return diagnostics.ok() ? inputs : std::vector<Input>{};
}

std::vector<Sweep> read_sweeps(const Options& options) {
  std::vector<Sweep> sweeps;
  for (const Override& sweep : options.sweeps) {
    Sweep values{sweep.path, {}};
    // Commas inside [] belong to a list value: schedule.tile=[64,64],[128,64].
    int depth = 0;
    std::string value;
    for (const char c : sweep.value + ",") {
      depth += (c == '[') - (c == ']');  // balanced: options.cpp has checked it
      if (c != ',' || depth > 0) {
        value += c;
      } else {
        values.values.push_back(value);
        value.clear();
      }
    }
    sweeps.push_back(values);
  }
  return sweeps;
}

int run_command(const Options& options) {
  DiagnosticPrinter diagnostics(llvm::errs(), llvm::sys::Process::StandardErrHasColors());
  if (options.werror) diagnostics.refuse_warnings();
  switch (options.verb) {
    case Verb::generate:
      return generate_command(options, diagnostics);
    case Verb::check:
      return check_command(options, diagnostics);
    case Verb::explain:
      return explain_command(options, diagnostics);
    case Verb::verify:
      return verify_command(options, diagnostics);
    case Verb::bench:
      return bench_command(options, diagnostics);
    case Verb::list:
      return run_list(options.list_what);
    case Verb::schema:
      llvm::outs() << spec_json_schema();
      return kExitOk;
  }
  llvm_unreachable("verb");
}

}  // namespace tilepost
