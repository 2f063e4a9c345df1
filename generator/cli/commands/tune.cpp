#include "generator/tune/tune.h"
#include "generator/cli/commands.h"
#include "generator/cli/files.h"
#include "generator/plan/tuning/text.h"
#include "llvm/Support/FileSystem.h"

namespace tilepost {

int tune_command(const Options& options, Diagnostics& diagnostics) {
  int exit_code = kExitOk;
  const std::vector<Input> inputs = read_inputs(options, diagnostics, exit_code);
  if (inputs.empty()) return exit_code;
  const std::string& path = options.tuned_file;
  if (!check_apart("-o", path, options.specs, diagnostics)) return kExitUsage;
  std::shared_ptr<TuningFile> file = std::make_shared<TuningFile>(TuningFile{path, {}});
  if (llvm::sys::fs::exists(path)) {
    file = read_tuning_file(path, diagnostics, exit_code);
    if (file == nullptr) return exit_code;
  }
  TuneOptions tune_options;
  tune_options.shapes = options.shapes;
  tune_options.candidates = static_cast<size_t>(options.candidates);
  tune_options.seconds = options.seconds;
  tune_options.again = options.again;
  tune_options.graph = options.graph;
  tune_options.seed = options.seed;
  tune_options.keep_dir = options.keep_dir;
  tune_options.jobs = options.jobs;
  tune_options.cache_dir = options.cache_dir;
  const TuningStore store{
      [&] { return can_write_file(path, diagnostics); },
      [&] { return write_file(path, write_tuning(file->entries), diagnostics); }};
  return tune(inputs, tune_options, *file, store, llvm::outs(), diagnostics);
}

}  // namespace tilepost
