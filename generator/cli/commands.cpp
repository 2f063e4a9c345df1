#include "generator/cli/commands.h"

#include <fmt/format.h>
#include <string.h>

#include "generator/cli/cmake_dir.h"
#include "generator/cli/files.h"
#include "generator/diagnostic_printer.h"
#include "generator/driver.h"
#include "generator/harness/process.h"
#include "generator/spec/read_tree.h"
#include "generator/verify/verify.h"
#include "generator/whole_files.h"
#include "generator/yaml/read_machine.h"
#include "generator/yaml/read_tuning.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

int weave_command(const Options& options, Diagnostics& diagnostics) {
  int exit_code = kExitOk;
  const std::vector<Input> inputs = read_inputs(options, diagnostics, exit_code);
  if (inputs.empty()) return exit_code;
  std::vector<std::string> sources;
  const std::string text = weave_input(inputs.front(), sources, diagnostics);
  if (text.empty()) return kExitRejected;
  if (options.output_file.empty()) {
    llvm::outs() << text;
    return kExitOk;
  }
  const std::string folder = llvm::sys::path::parent_path(options.output_file).str();
  const std::vector<OutputFile> files = {
      {llvm::sys::path::filename(options.output_file).str(), text}};
  if (!options.depfile.empty() &&
      !check_depfile(options.depfile, folder, files, sources, diagnostics))
    return kExitUsage;
  if (!write_file(options.output_file, text, diagnostics)) return kExitIo;
  if (options.depfile.empty()) return kExitOk;
  return write_file(options.depfile, make_depfile(folder, files, sources), diagnostics) ? kExitOk
                                                                                        : kExitIo;
}

// ---- Commands that print text, or fill in a document if there is one

int check_command(const Options& options, Diagnostics& diagnostics, JsonDocument* document) {
  int exit_code = kExitOk;
  const std::vector<Input> inputs = read_inputs(options, diagnostics, exit_code);
  llvm::json::Array specs;
  for (const Input& input : inputs) {
    const bool ok = !generate(input, diagnostics).empty();
    specs.push_back(llvm::json::Object{{"file", json_text(input.path)}, {"ok", ok}});
  }
  if (document != nullptr) document->set("specs", std::move(specs));
  if (inputs.empty()) return exit_code;
  return diagnostics.ok() ? kExitOk : kExitRejected;
}

void fill_in(const VerifyReport& report, const Options& options, JsonDocument& document) {
  llvm::json::Array checks;
  for (const std::string& line : report.lines) {
    const auto [word, text] = llvm::StringRef(line).split(' ');
    checks.push_back(
        llvm::json::Object{{"result", word.lower()}, {"text", json_text(text.ltrim())}});
  }
  document.set("target", report.target.empty() ? nullptr : llvm::json::Value(report.target));
  document.set("target_reason", json_text(report.target_reason));
  document.set("seed", static_cast<int64_t>(options.seed));
  document.set("passed", report.passed);
  document.set("failed", report.failed);
  llvm::json::Array not_run;
  for (const std::string& kernel : report.not_run) not_run.push_back(json_text(kernel));
  document.set("not_run", std::move(not_run));
  document.set("summary", json_text(report.summary));
  document.set("checks", std::move(checks));
}

int verify_command(const Options& options, Diagnostics& diagnostics, JsonDocument* document) {
  VerifyReport report;
  if (document != nullptr) fill_in(report, options, *document);
  int exit_code = kExitOk;
  const std::vector<Input> inputs = read_inputs(options, diagnostics, exit_code);
  if (inputs.empty()) return exit_code;
  VerifyOptions verify_options;
  verify_options.target = options.target == "cuda"   ? VerifyTarget::cuda
                          : options.target == "host" ? VerifyTarget::host
                                                     : VerifyTarget::automatic;
  verify_options.sweeps = options.sweeps;
  verify_options.seed = options.seed;
  verify_options.runs = options.runs;
  verify_options.run_rows = options.run_rows;
  verify_options.no_run = options.no_run;
  verify_options.keep_dir = options.keep_dir;
  verify_options.jobs = options.jobs;
  verify_options.cache_dir = options.cache_dir;
  llvm::raw_ostream& out = document != nullptr ? llvm::nulls() : llvm::outs();
  exit_code = verify(inputs, verify_options, out, report, diagnostics);
  if (document != nullptr) fill_in(report, options, *document);
  return exit_code;
}

// The exit code of a command. If the command was asked to stop, it has not failed: the exit code
// then tells the signal.
int unless_interrupted(int exit_code, Diagnostics& diagnostics) {
  const int signal = interrupt_signal();
  if (exit_code == kExitOk || exit_code == kExitNotRun || signal == 0) return exit_code;
  diagnostics.error(fmt::format("interrupted by signal {} ({})", signal, strsignal(signal)));
  return kExitSignal + signal;
}

int run_verb(const Options& options, Diagnostics& diagnostics, JsonDocument* document) {
  if (options.werror) diagnostics.refuse_warnings();
  switch (options.verb) {
    case Verb::generate:
      return generate_command(options, diagnostics);
    case Verb::check:
      return check_command(options, diagnostics, document);
    case Verb::explain:
      return explain_command(options, diagnostics, document);
    case Verb::weave:
      return weave_command(options, diagnostics);
    case Verb::verify:
      return unless_interrupted(verify_command(options, diagnostics, document), diagnostics);
    case Verb::bench:
      return unless_interrupted(bench_command(options, diagnostics), diagnostics);
    case Verb::tune:
      return unless_interrupted(tune_command(options, diagnostics), diagnostics);
    case Verb::profile:
      return unless_interrupted(profile_command(options, diagnostics), diagnostics);
    case Verb::catalogue:
      return unless_interrupted(catalogue_command(options, diagnostics), diagnostics);
    case Verb::list:
      return list_command(options, diagnostics, document);
    case Verb::schema:
      llvm::outs() << spec_json_schema();
      return kExitOk;
    case Verb::cmake_dir:
      return cmake_dir_command(options.called_as, diagnostics);
  }
  llvm_unreachable("verb");
}

// Prints a complete document in any case: an exception becomes a message in it.
int run_as_json(const Options& options) {
  JsonDiagnostics diagnostics;
  JsonDocument document;
  int exit_code = kExitBug;
  try {
    exit_code = run_verb(options, diagnostics, &document);
  } catch (const std::exception& error) {
    diagnostics.error(internal_error(error));
  }
  document.print(llvm::outs(), verb_name(options.verb), exit_code, diagnostics);
  return exit_code;
}

// Whether there are such fields. This is said once, and not for every value of the sweep.
bool know_swept_fields(const std::vector<Sweep>& sweeps, Diagnostics& diagnostics) {
  constexpr std::string_view kFlag = "--sweep ";
  for (const Sweep& sweep : sweeps) {
    const std::string_view text = diagnostics.add_source(
        "<command line>", fmt::format("{}{}={}", kFlag, sweep.path, llvm::join(sweep.values, ",")));
    const std::string_view path = text.substr(kFlag.size(), sweep.path.size());
    find_target(path, place_of(path), diagnostics);
  }
  return diagnostics.ok();
}

}  // namespace

std::shared_ptr<const Machine> read_machine_of(const Options& options, Diagnostics& diagnostics,
                                               int& exit_code) {
  const std::string& asked = options.machine;
  Machine machine;
  if (asked.empty()) return std::make_shared<const Machine>(std::move(machine));
  std::vector<std::string_view> names;
  for (const KnownMachine& known : known_machines()) {
    names.push_back(known.key);
    if (asked == known.key) {
      machine.profile = known.profile;
      machine.asked = asked;
      return std::make_shared<const Machine>(std::move(machine));
    }
  }
  // Files have a dot or a slash: what has none and is no file was meant to be a name.
  if (asked.find_first_of("./") == std::string::npos && asked != "-" &&
      !llvm::sys::fs::exists(asked)) {
    exit_code = kExitUsage;
    diagnostics.error(fmt::format(
        "no machine is called '{}'{}; 'tilepost list machines' has the names, and a file "
        "may be given too",
        asked, did_you_mean(asked, names)));
    return nullptr;
  }
  exit_code = kExitIo;
  const std::optional<std::string> text = read_text(asked, diagnostics);
  if (!text) return nullptr;
  exit_code = kExitRejected;
  std::optional<MachineProfile> profile = read_machine_text(asked, *text, diagnostics);
  if (!profile) return nullptr;
  machine.profile = std::move(*profile);
  exit_code = kExitOk;
  machine.file = machine.asked = asked;
  return std::make_shared<const Machine>(std::move(machine));
}

std::shared_ptr<TuningFile> read_tuning_file(const std::string& path, Diagnostics& diagnostics,
                                             int& exit_code) {
  exit_code = kExitIo;
  const std::optional<std::string> text = read_text(path, diagnostics);
  if (!text) return nullptr;
  exit_code = kExitRejected;
  std::optional<std::vector<TuningEntry>> entries = read_tuning_text(path, *text, diagnostics);
  if (!entries) return nullptr;
  exit_code = kExitOk;
  return std::make_shared<TuningFile>(TuningFile{path, std::move(*entries)});
}

std::vector<Input> read_inputs(const Options& options, Diagnostics& diagnostics, int& exit_code) {
  std::vector<Input> inputs;
  if (!know_swept_fields(options.sweeps, diagnostics)) {
    exit_code = kExitRejected;
    return {};
  }
  const std::shared_ptr<const Machine> machine = read_machine_of(options, diagnostics, exit_code);
  if (machine == nullptr) return {};
  std::shared_ptr<const TuningFile> tuning;
  if (!options.tuning.empty()) {
    tuning = read_tuning_file(options.tuning, diagnostics, exit_code);
    if (tuning == nullptr) return {};
  }
  for (const std::string& path : options.specs)
    if (std::optional<std::string> text = read_text(path, diagnostics))
      inputs.push_back(
          {path, std::move(*text), options.overrides, machine, options.timestamps, {}, tuning});
  if (diagnostics.ok()) return inputs;
  exit_code = kExitIo;
  return {};
}

std::string internal_error(const std::exception& error) {
  return fmt::format("internal error: {} (version {}); please report it with the spec",
                     error.what(), TILEPOST_VERSION_STRING);
}

int refuse_usage(const Options& options, const std::vector<std::string>& mistakes) {
  const auto report = [&](Diagnostics& diagnostics) {
    for (const std::string& mistake : mistakes) diagnostics.error(mistake);
  };
  if (options.json_document) {
    JsonDiagnostics diagnostics;
    report(diagnostics);
    JsonDocument().print(llvm::outs(), verb_name(options.verb), kExitUsage, diagnostics);
  } else {
    DiagnosticPrinter diagnostics(llvm::errs(), llvm::sys::Process::StandardErrHasColors());
    report(diagnostics);
  }
  return kExitUsage;
}

int run_command(const Options& options) {
  if (options.json_document) return run_as_json(options);
  DiagnosticPrinter diagnostics(llvm::errs(), llvm::sys::Process::StandardErrHasColors());
  return run_verb(options, diagnostics, nullptr);
}

}  // namespace tilepost
