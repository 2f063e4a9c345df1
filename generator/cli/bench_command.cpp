#include "generator/bench/bench.h"

#include "generator/cli/commands.h"
#include "generator/cli/files.h"
#include "generator/diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace tilepost {

namespace {

std::string folder_of(llvm::StringRef path) {
  const llvm::StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder.str();
}

// Whether a file can be written there: asked before minutes of measuring, not after.
bool can_write(llvm::StringRef path, Diagnostics& diagnostics) {
  const std::string folder = folder_of(path);
  std::error_code error = llvm::sys::fs::create_directories(folder);
  if (!error) error = llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write);
  if (!error && llvm::sys::fs::exists(path))
    error = llvm::sys::fs::access(path, llvm::sys::fs::AccessMode::Write);
  if (error) diagnostics.error({}, "--json cannot write '" + path + "': " + error.message());
  return !error;
}

}  // namespace

int bench_command(const Options& options, Diagnostics& diagnostics) {
  const std::vector<Input> inputs = read_inputs(options, diagnostics);
  if (inputs.empty()) return kExitIo;
  BenchOptions bench_options;
  bench_options.shapes = options.shapes;
  bench_options.sweeps = read_sweeps(options);
  bench_options.mode = options.mode == "cool"        ? BenchMode::cool
                       : options.mode == "sustained" ? BenchMode::sustained
                                                     : BenchMode::both;
  bench_options.rounds = options.rounds;
  bench_options.seed = options.seed;
  bench_options.keep_dir = options.keep_dir;
  bench_options.jobs = options.jobs;
  std::string json;
  if (!options.json.empty() && !can_write(options.json, diagnostics)) return kExitIo;
  const int exit_code = bench(inputs, bench_options, llvm::outs(), json, diagnostics);
  if (options.json.empty() || json.empty()) return exit_code;
  const OutputFile file{llvm::sys::path::filename(options.json).str(), json};
  if (!write_files(folder_of(options.json), {file}, diagnostics)) return kExitIo;
  return exit_code;
}

}  // namespace tilepost
