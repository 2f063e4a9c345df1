#include "generator/bench/bench.h"

#include "generator/cli/commands.h"
#include "generator/cli/files.h"
#include "generator/diagnostics.h"

namespace tilepost {

int bench_command(const Options& options, Diagnostics& diagnostics) {
  int exit_code = kExitOk;
  const std::vector<Input> inputs = read_inputs(options, diagnostics, exit_code);
  if (inputs.empty()) return exit_code;
  BenchOptions bench_options;
  bench_options.shapes = options.shapes;
  bench_options.sweeps = options.sweeps;
  bench_options.mode = options.mode == "cool"        ? BenchMode::cool
                       : options.mode == "sustained" ? BenchMode::sustained
                                                     : BenchMode::both;
  bench_options.rounds = options.rounds;
  bench_options.seed = options.seed;
  bench_options.lent_output = options.lent_output;
  bench_options.registered = options.registered;
  bench_options.load = options.load;
  bench_options.torch = options.torch;
  bench_options.keep_dir = options.keep_dir;
  bench_options.no_run = options.no_run;
  bench_options.from = options.from;
  bench_options.jobs = options.jobs;
  bench_options.cache_dir = options.cache_dir;
  bench_options.draws = !options.svg.empty();
  BenchFiles files;
  for (const std::string* path : {&options.json, &options.svg})
    if (!path->empty() && !can_write_file(*path, diagnostics)) return kExitIo;
  if (!options.svg.empty() && !check_apart("--svg", options.svg, options.specs, diagnostics))
    return kExitIo;
  exit_code = bench(inputs, bench_options, llvm::outs(), files, diagnostics);
  if (files.json.empty()) return exit_code;
  if (!options.json.empty() && !write_file(options.json, files.json, diagnostics)) return kExitIo;
  if (!options.svg.empty() && !write_file(options.svg, files.svg, diagnostics)) return kExitIo;
  return exit_code;
}

}  // namespace tilepost
