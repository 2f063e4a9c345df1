#include "generator/bench/torch.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/harness/output_reader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tilepost {
namespace {

using llvm::json::Object;

// The script may take kStartSeconds, and kShapeSeconds more for each shape.
constexpr int kStartSeconds = 120, kShapeSeconds = 20;

std::string shape_of(const Plan& plan) {
  return fmt::format("{}x{}x{}", plan.map.m, plan.map.n, plan.k);
}

bool has_fused(const Plan& plan, int gpus) {
  const bool pattern = plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER ||
                       plan.pattern == TILEPOST_ALL_GATHER_GEMM ||
                       plan.pattern == TILEPOST_GEMM_ALL_REDUCE;
  return pattern && plan.ranks <= gpus && plan.input == plan.output &&
         plan.operands == TILEPOST_TN && plan.epilogue == 0 &&
         (plan.consumer == TILEPOST_CONSUMER_NONE || plan.consumer == TILEPOST_CONSUMER_UNPERMUTE);
}

bool is_about(const TorchRun& run, const Plan& plan) {
  return plan.pattern == run.pattern && plan.ranks == run.ranks && plan.input == run.type;
}

// Calls body(program) for each program that `run` measures at `shape`, or at any shape if `shape`
// is empty.
template <class Body>
void for_programs(const TorchRun& run, const std::string& shape,
                  const std::vector<HarnessProgram>& programs, Body body) {
  for (const HarnessProgram& program : programs) {
    const Plan& plan = program.plans.front();
    if (is_about(run, plan) && has_fused(plan, plan.ranks) &&
        (shape.empty() || shape_of(plan) == shape))
      body(program.name);
  }
}

ModeSamples samples_of(const char* mode, const Object& us) {
  ModeSamples samples;
  samples.mode = mode;
  for (const auto& [variant, values] : us)
    if (const llvm::json::Array* list = values.getAsArray())
      for (const llvm::json::Value& value : *list)
        samples.us[variant.str()].push_back(value.getAsNumber().value_or(0));
  return samples;
}

// Why the script has no time for a point, or "".
std::string reason_of(const Object& point) {
  const int64_t wrong = point.getInteger("wrong").value_or(0);
  if (wrong > 0) return fmt::format("PyTorch: {} elements are wrong, no time", wrong);
  const llvm::StringRef failure = point.getString("failure").value_or("");
  return failure.empty() ? "" : ("PyTorch: no time: " + failure).str();
}

std::vector<std::string> arguments(const TorchRun& run, const std::string& python, int rounds,
                                   uint64_t seed, const WorkDir& dir, const std::string& json) {
  const int seconds = kStartSeconds + kShapeSeconds * static_cast<int>(run.shapes.size());
  return {python,       dir.path("runtime/bench/async_tp.py"),
          "--ranks",    std::to_string(run.ranks),
          "--shapes",   llvm::join(run.shapes, ","),
          "--patterns", name_of(run.pattern),
          "--dtype",    name_of(run.type),
          "--rounds",   std::to_string(rounds),
          "--seed",     std::to_string(seed),
          "--timeout",  std::to_string(seconds),
          "--json",     json};
}

}  // namespace

std::vector<TorchRun> torch_runs(const std::vector<HarnessProgram>& programs, int gpus) {
  std::vector<TorchRun> runs;
  for (const HarnessProgram& program : programs) {
    const Plan& plan = program.plans.front();
    if (!has_fused(plan, gpus)) continue;
    auto run = llvm::find_if(runs, [&](const TorchRun& each) { return is_about(each, plan); });
    if (run == runs.end())
      run = runs.insert(runs.end(), {plan.pattern, plan.ranks, plan.input, {}});
    if (!llvm::is_contained(run->shapes, shape_of(plan))) run->shapes.push_back(shape_of(plan));
  }
  return runs;
}

bool take_torch(llvm::StringRef json, const TorchRun& run,
                const std::vector<HarnessProgram>& programs, BenchLog& log) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const Object* report = value->getAsObject();
  const llvm::json::Array* points = report != nullptr ? report->getArray("points") : nullptr;
  if (points == nullptr) return false;
  log.set_torch(report->getString("torch").value_or("").str(),
                report->getString("nccl").value_or("").str());
  for (const llvm::json::Value& each : *points) {
    const Object* point = each.getAsObject();
    if (point == nullptr || point->getObject("us") == nullptr) return false;
    const auto extent = [&](const char* key) { return point->getInteger(key).value_or(0); };
    const std::string shape = fmt::format("{}x{}x{}", extent("m"), extent("n"), extent("k"));
    const std::string reason = reason_of(*point);
    for_programs(run, shape, programs, [&](const std::string& name) {
      if (!reason.empty()) return log.add_note(name, reason);
      log.add_mode(name, samples_of("torch", *point->getObject("us")));
      const Object* const graphed = point->getObject("graph_us");
      if (graphed != nullptr && !graphed->empty())
        log.add_mode(name, samples_of("torch graph", *graphed));
    });
  }
  return true;
}

void measure_torch(const std::string& python, int rounds, uint64_t seed,
                   const std::vector<HarnessProgram>& programs, int gpus, const WorkDir& dir,
                   BenchLog& log, Progress& progress) {
  for (const TorchRun& run : torch_runs(programs, gpus)) {
    const std::string json = dir.path("torch.json");
    std::string last;
    const std::vector<std::string> argv = arguments(run, python, rounds, seed, dir, json);
    const double patience = kStartSeconds + kShapeSeconds * static_cast<double>(run.shapes.size());
    progress.update("measuring PyTorch", 0, run.shapes.size());
    const HarnessEnd end =
        run_lines(argv, patience, [&](llvm::StringRef line) { last = line.str(); });
    progress.clear();
    // The script writes the whole file again after every point, so after a failure the file has the
    // points that were finished.
    const auto file = llvm::MemoryBuffer::getFile(json);
    const bool taken = file && take_torch((*file)->getBuffer(), run, programs, log);
    std::remove(json.c_str());
    if (taken && end.ended && end.exit_status == 0) continue;
    const std::string why = last.empty() ? end.end : last + " (" + end.end + ")";
    for_programs(run, "", programs, [&](const std::string& name) {
      if (!log.of(name).has_mode("torch")) log.add_note(name, "PyTorch: no time: " + why);
    });
  }
}

}  // namespace tilepost
