#include "generator/emit/emit.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/emit/emit_own.h"
#include "generator/emit/parts.h"
#include "generator/emit/plan_json.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/report/describe.h"
#include "generator/plan/variant.h"
#include "generator/printable.h"
#include "generator/resources.h"
#include "generator/spec/names.h"
#include "generator/weave/weave.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "runtime/map/quantised.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

constexpr const char* kSm90aGuard = "TILEPOST_ARCH_SM_90A";

// The macro that guards the kernel's body in a file for several architectures, if only some of them
// can compile the body; else "".
std::string arch_guard(const Plan& plan, bool one_arch) {
  return !one_arch && plan.kernel.launch == TILEPOST_LAUNCH_TMA ? kSm90aGuard : "";
}

std::optional<WovenKernel> weave_plan(const Plan& plan, bool one_arch, Diagnostics& diagnostics) {
  if (plan.source.own) return weave_own(plan, one_arch, diagnostics);
  const std::optional<llvm::StringRef> source = find_resource("templates/" + plan.source.file);
  if (!source) {
    diagnostics.error("the bundled kernel '" + plan.source.file + "' is missing from this build");
    return std::nullopt;
  }
  WeaveRequest request;
  request.file = plan.source.file;
  request.source = source->str();
  request.function = plan.kernel.name;
  request.tunables = plan.source.tunables;
  request.cuda = plan.kernel.launch != TILEPOST_LAUNCH_HOST;
  if (request.cuda) request.keep = {"kThreads", "kSharedBytes"};
  request.view_type = "View";
  const KernelDuties duties = duties_of(plan);
  request.waits = duties.waits;
  request.stores = duties.stores;
  request.tasks = duties.tasks;
  request.fused = duties.fused;
  request.sources = duties.sources;
  request.spreads = duties.spreads;
  request.reads_own = duties.reads_own;
  request.exchanges_parts = duties.exchanges_parts;
  request.gathers = duties.gathers;
  request.arch_guard = arch_guard(plan, one_arch);
  return weave_cached(request, diagnostics);
}

// ", m from 65 to 4096" for a plan that serves a part of the runs; "" for one that serves all.
std::string runs_of(const Plan& plan) {
  if (!plan.takes_turns()) return "";
  return fmt::format(", m from {} to {}", plan.least_m, rows_of_runs(plan));
}

// One kernel for each plan; no kernels if the weaver refused one.
std::vector<WovenKernel> weave_plans(const std::vector<Plan>& plans, Diagnostics& diagnostics) {
  std::vector<WovenKernel> kernels;
  for (const Plan& plan : plans) {
    if (auto woven = weave_plan(plan, have_one_arch(plans), diagnostics))
      kernels.push_back(std::move(*woven));
    else if (plan.source.own)
      break;  // every architecture would refuse it for the same reason
  }
  return kernels.size() == plans.size() ? kernels : std::vector<WovenKernel>{};
}

// Whether the kernels of these plans can note times.
bool can_note_times(const std::vector<Plan>& plans, Diagnostics& diagnostics) {
  const Plan& plan = plans.front();
  if (plan.arch == Arch::host) {
    diagnostics.error(
        "--timestamps is for GPUs: the host target has no device's clock; set --arch to a GPU's");
    return false;
  }
  if (!plan.source.own || !plan.source.own->spec.cutlass.value) return true;
  diagnostics.error(fmt::format(
      "--timestamps does not reach into '{}': kernels of CUTLASS's types note no times; leave it "
      "out, and look at the kernel with a profiler",
      plan.source.file));
  return false;
}

// The lines of a comment that say what an operation computes, whose output is called `result`.
void describe_operation(llvm::raw_ostream& out, const Plan& plan, const char* result) {
  out << "//   " << describe_product(plan, result) << ", " << name_of(plan.input) << " in, "
      << name_of(type_of_out(plan)) << " out\n";
  if (plan.epilogue == 0) return;
  out << "//   epilogue";
  for (const Spelling& operation : spellings<tilepost_epilogue_op_t>())
    if ((plan.epilogue & operation.value) != 0) out << " " << operation.text;
  out << "\n";
}

void describe_layer(llvm::raw_ostream& out, const Program& program) {
  out << "//   a layer of experts, first half:\n";
  describe_operation(out, program.first(), "rows");
  out << "//   second half, whose A is these rows:\n";
  describe_operation(out, program.last_operation(), "out");
}

std::string hash_of(llvm::StringRef text) {
  return fmt::format("{:016x}", llvm::xxh3_64bits(text));
}

}  // namespace

std::string namespace_of(std::string_view name) {
  return "tilepost_gen_" + std::string(name);
}

std::string namespace_of(const Plan& plan) {
  const std::string half = plan.half == Half::none ? "" : fmt::format("_{}", name_of(plan.half));
  const std::string rows = plan.range > 0 ? fmt::format("_to_{}", rows_of_runs(plan)) : "";
  return namespace_of(plan.name) + "::" + name_of(plan.arch) + half + rows;
}

const Plan& Program::last_operation() const {
  return first().half == Half::none ? first() : second_half_of(plans, first());
}

bool have_one_arch(const std::vector<Plan>& plans) {
  return std::ranges::all_of(plans,
                             [&](const Plan& plan) { return plan.arch == plans.front().arch; });
}

std::string plan_symbol(const Program& program) {
  return "tilepost_plan_" + program.name() + "_" + program.set_hash;
}

std::string provenance(const Program& program) {
  const Plan& plan = program.first();
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "// Generated by tilepost " << TILEPOST_VERSION_STRING << " from "
      << printable(program.spec_name) << "; do not edit: change the spec and generate again.\n";
  if (plan.half == Half::none)
    describe_operation(out, plan, "out");
  else
    describe_layer(out, program);
  if (plan.any_m) out << "//   for any m up to " << rows_of_runs(plan) << "\n";
  for (const Plan& each : program.plans) {
    const tilepost_kernel_t& kernel = each.kernel;
    const char* const half = name_of(each.half);
    out << "//   " << name_of(each.arch) << (*half ? fmt::format(", {} half", half) : "")
        << runs_of(each) << ": " << kernel.name << ", tile " << each.map.tile_m << "x"
        << each.map.tile_n << ", " << each.waves << " wave" << (each.waves == 1 ? "" : "s")
        << " in " << each.tile_map().groups.size() << " group"
        << (each.tile_map().groups.size() == 1 ? "" : "s") << ", " << name_of(each.map.layout)
        << " layout\n";
  }
  out << "//   plan " << program.plan_hash << "\n";
  return text;
}

std::vector<OutputFile> emit(const std::vector<Plan>& plans, llvm::StringRef spec_name,
                             Diagnostics& diagnostics, bool timestamps) {
  if (timestamps && !can_note_times(plans, diagnostics)) return {};
  const std::vector<WovenKernel> kernels = weave_plans(plans, diagnostics);
  if (kernels.empty()) return {};
  const std::string json = plans_to_json(plans);
  Program program{plans, spec_name.str(), hash_of(json), std::string(16, '0'), timestamps};
  // The hash of all that the files contain besides the hash itself.
  program.set_hash = hash_of(emit_source(program, kernels) + emit_header(program) + json);
  const std::string& name = program.name();
  return {{name + (program.host() ? ".cpp" : ".cu"), emit_source(program, kernels)},
          {name + ".h", emit_header(program)},
          {name + ".plan.json", json}};
}

std::string emit_woven(const std::vector<Plan>& plans, llvm::StringRef spec_name,
                       Diagnostics& diagnostics) {
  const std::vector<WovenKernel> kernels = weave_plans(plans, diagnostics);
  if (kernels.empty()) return "";
  return emit_kernels({plans, spec_name.str(), hash_of(plans_to_json(plans)), "", false}, kernels);
}

std::string emit_for_catalogue(const Plan& plan, Diagnostics& diagnostics) {
  Plan shared = plan;
  shared.source.tunables = variant_of(plan).tunables;
  const std::optional<WovenKernel> kernel = weave_plan(shared, /*one_arch=*/true, diagnostics);
  return kernel ? emit_catalogued(shared, *kernel) : "";
}

}  // namespace tilepost
