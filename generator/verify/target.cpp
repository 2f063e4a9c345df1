#include "generator/verify/target.h"
#include "generator/harness/gpus.h"

#include <algorithm>

#include "generator/harness/build.h"

namespace tilepost {
namespace {

// How many GPUs the programs need: one for each rank, but a single one for ranks that do not
// communicate.
int max_ranks(const std::vector<HarnessProgram>& programs) {
  int ranks = 1;
  for (const HarnessProgram& program : programs)
    if (const Plan& plan = program.plans.front(); row_of(plan).communicates())
      ranks = std::max(ranks, plan.ranks);
  return ranks;
}

// The GPUs that are assumed on another machine: those of the newest architecture that the first
// program has a plan for. `sm` is 0 if the program has no plan for GPUs.
Gpus asked_gpus(const std::vector<HarnessProgram>& programs) {
  Gpus gpus;
  gpus.count = max_ranks(programs);
  for (const Plan& plan : programs.front().plans)
    if (plan.arch != Arch::host) gpus.sm = std::max(gpus.sm, compute_capability(plan.arch));
  return gpus;
}

// Why the programs cannot run on GPUs, or "" if they can. In that case `choice` is filled in. With
// `elsewhere` the GPUs are those of asked_gpus(), otherwise this machine's.
std::string obstacle(const std::vector<HarnessProgram>& programs, bool elsewhere,
                     TargetChoice& choice) {
  for (const HarnessProgram& program : programs)
    if (program.plans.front().arch == Arch::host) return "the spec's arch is 'host'";
  const Gpus gpus = elsewhere ? asked_gpus(programs) : find_gpus();
  if (const int wanted = max_ranks(programs); gpus.count < wanted)
    return "this machine has " + std::to_string(gpus.count) + (gpus.count == 1 ? " GPU" : " GPUs") +
           (gpus.reason.empty() ? "" : " (" + gpus.reason + ")") + ", the spec wants " +
           std::to_string(wanted);
  for (const HarnessProgram& program : programs) {
    const auto served = [&](const Plan& plan) { return serves_gpu(plan.arch, gpus.sm); };
    if (std::none_of(program.plans.begin(), program.plans.end(), served))
      return (elsewhere ? "the first spec's GPUs are sm_" : "this machine's GPUs are sm_") +
             std::to_string(gpus.sm) + ", '" + program.name + "' is planned for " +
             name_of(program.plans.front().arch);
  }
  std::string missing;
  const std::optional<CudaTools> tools = find_cuda_tools(missing);
  if (!tools) return "there is no " + missing;
  choice.sm = gpus.sm;
  choice.tools = *tools;
  return "";
}

}  // namespace

std::optional<TargetChoice> choose_target(const std::vector<HarnessProgram>& programs,
                                          VerifyTarget target, bool elsewhere,
                                          Diagnostics& diagnostics) {
  TargetChoice choice;
  if (target != VerifyTarget::host) {
    const std::string reason = obstacle(programs, elsewhere, choice);
    choice.cuda = reason.empty();
    if (choice.cuda) return choice;
    if (target == VerifyTarget::cuda) {
      diagnostics.error("cannot verify on GPUs: " + reason);
      return std::nullopt;
    }
    choice.reason = reason;
  }
  std::string looked_for;
  choice.compiler = find_host_compiler(looked_for);
  if (!choice.compiler.empty()) return choice;
  diagnostics.error("there is no C++ compiler: looked for " + looked_for);
  return std::nullopt;
}

}  // namespace tilepost
