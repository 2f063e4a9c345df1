#include "generator/harness/programs.h"

#include <map>
#include <set>

#include "generator/emit/emit_own.h"
#include "generator/harness/process.h"
#include "generator/plan/make_plan.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

// The operations of a layer are checked and measured one by one, each as a program that stands
// alone: "<name>_first" and "<name>_second".
void add_operations(const Case& each, std::vector<Plan> plans,
                    std::vector<HarnessProgram>& programs) {
  const std::string spec = llvm::sys::path::filename(each.input.path).str();
  Half half = Half::none;
  for (Plan& plan : plans) {
    if (&plan == &plans.front() || plan.half != half) {
      half = plan.half;
      std::string name = plan.name;
      if (half != Half::none) name += std::string("_") + name_of(half);
      programs.push_back({std::move(name), spec, each.hidden, {}});
    }
    plan.half = Half::none;
    plan.name = programs.back().name;
    programs.back().plans.push_back(std::move(plan));
  }
}

void rename(HarnessProgram& program, const std::string& name) {
  program.name = name;
  for (Plan& plan : program.plans) plan.name = name;
}

}  // namespace

std::vector<HarnessProgram> plan_cases(const std::vector<Case>& cases, Progress& progress,
                                       Diagnostics& diagnostics) {
  std::vector<HarnessProgram> programs;
  for (const Case& each : cases) {
    if (interrupted() || diagnostics.errors() >= Diagnostics::kMaxErrors) return {};
    progress.update("planning", programs.size(), cases.size());
    std::vector<Plan> plans = plan_input(each.input, diagnostics);
    if (plans.empty()) {
      if (!each.varied.empty()) diagnostics.note({}, "with " + each.varied);
      continue;
    }
    add_operations(each, std::move(plans), programs);
  }
  return diagnostics.ok() ? programs : std::vector<HarnessProgram>{};
}

std::vector<HarnessProgram> on_host(const std::vector<HarnessProgram>& programs,
                                    llvm::function_ref<bool(const Plan&)> runs_own) {
  std::vector<HarnessProgram> result;
  for (const HarnessProgram& program : programs)
    for (const Plan& first : program.plans) {
      if (first.range > 0) continue;
      HarnessProgram twin = program;
      twin.plans.clear();
      for (const Plan& plan : program.plans)
        if (plan.arch == first.arch)
          twin.plans.push_back(plan.arch == Arch::host             ? plan
                               : plan.source.own && runs_own(plan) ? cpu_twin(plan)
                                                                   : host_twin(plan));
      if (twin.plans.size() < program.plans.size()) {
        const std::string arch = std::string("as ") + name_of(first.arch);
        twin.varied += (twin.varied.empty() ? "" : ", ") + arch;
      }
      result.push_back(std::move(twin));
    }
  return result;
}

void make_names_unique(std::vector<HarnessProgram>& programs) {
  std::map<std::string, int> uses;
  for (const HarnessProgram& program : programs) ++uses[program.name];
  std::set<std::string> taken;
  for (const auto& [name, count] : uses)
    if (count == 1) taken.insert(name);
  std::map<std::string, int> last;
  for (HarnessProgram& program : programs) {
    const std::string base = program.name;
    std::string name = base;
    while (uses[base] > 1 && (name == base || !taken.insert(name).second))
      name = base + "_" + std::to_string(++last[base]);
    rename(program, name);
  }
}

SourcesResult write_programs(const std::vector<HarnessProgram>& programs, const WorkDir& dir,
                             Progress& progress, Diagnostics& diagnostics) {
  for (size_t i = 0; i < programs.size(); ++i) {
    progress.update("generating", i, programs.size());
    if (interrupted()) return SourcesResult::rejected;
    const std::vector<OutputFile> files =
        emit(programs[i].plans, programs[i].spec_name, diagnostics);
    if (files.empty()) return SourcesResult::rejected;
    for (const OutputFile& file : files)
      if (!dir.write("programs/" + file.name, file.text, diagnostics))
        return SourcesResult::not_written;
    if (!has_plain(programs[i])) continue;
    const std::string plain = emit_plain(programs[i].plans, diagnostics);
    if (plain.empty()) return SourcesResult::rejected;
    if (!dir.write(plain_source(programs[i]), plain, diagnostics))
      return SourcesResult::not_written;
  }
  return SourcesResult::written;
}

bool has_plain(const HarnessProgram& program) {
  return program.plans.front().source.own != nullptr;
}

bool is_audited(const HarnessProgram& program) {
  return has_plain(program) && program.plans.front().access != TILEPOST_ACCESS_WRITE;
}

std::string plain_source(const HarnessProgram& program) {
  return "plain/" + program.name + (program.plans.front().arch == Arch::host ? ".cpp" : ".cu");
}

}  // namespace tilepost
