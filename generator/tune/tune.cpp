#include "generator/tune/tune.h"

#include <algorithm>

#include "generator/bench/target.h"
#include "generator/harness/gpus.h"
#include "generator/harness/process.h"
#include "generator/tune/gpu_runner.h"
#include "generator/tune/tune_cases.h"

namespace tilepost {

int tune(const std::vector<Input>& inputs, const TuneOptions& options, TuningFile& file,
         const TuningStore& store, llvm::raw_ostream& out, Diagnostics& diagnostics) {
  constexpr int kFailed = 1, kNotWritten = 3;
  const InterruptGuard guard;
  const Gpus gpus = find_gpus();
  if (gpus.count == 0) {
    diagnostics.error("cannot tune: this machine has no GPU (" + gpus.reason + ")");
    return kFailed;
  }
  const std::vector<TuneCase> cases =
      read_cases(expand(inputs, {}, options.shapes), gpus, diagnostics);
  if (cases.empty()) return kFailed;
  int ranks = 1;
  for (const TuneCase& one : cases) ranks = std::max(ranks, static_cast<int>(one.key.ranks));
  if (const std::string users = other_users_of_gpus(ranks); !users.empty()) {
    diagnostics.error("cannot tune: the GPUs are not free (" + users +
                      "), and their work would be measured too: end it, or choose other GPUs with "
                      "CUDA_VISIBLE_DEVICES");
    return kFailed;
  }
  const std::optional<BenchTarget> target = find_bench_target(gpus, "tune", diagnostics);
  if (!target) return kFailed;
  if (!store.can_write()) return kNotWritten;
  GpuRunner runner(*target, options);
  return tune_cases(cases, options, gpus.name, runner, file, store, out, diagnostics);
}

}  // namespace tilepost
