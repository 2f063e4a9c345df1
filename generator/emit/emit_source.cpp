#include <set>

#include "generator/emit/parts.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

// The architecture a file with a single sm_90a plan must be compiled for: anything else would make
// a kernel without its instructions.
void emit_arch_check(llvm::raw_ostream& out, const Program& program) {
  if (program.plans.size() != 1 || program.first().kernel.launch != TILEPOST_LAUNCH_TMA) return;
  out << "#if defined(__CUDA_ARCH__) && !TILEPOST_ARCH_SM_90A\n#error \"" << program.name()
      << ".cu is planned for sm_90a: compile with -gencode arch=compute_90a,code=sm_90a\"\n"
         "#endif\n\n";
}

void emit_includes(llvm::raw_ostream& out, const Program& program,
                   const std::vector<WovenKernel>& kernels) {
  std::set<std::string> includes;
  for (const WovenKernel& kernel : kernels)
    includes.insert(kernel.includes.begin(), kernel.includes.end());
  if (program.host()) {
    includes.insert("<tilepost/host/woven.h>");
  } else {
    includes.insert("<tilepost/device/arch.h>");
    includes.insert("<tilepost/device/woven.cuh>");
  }
  out << "#include \"" << program.name() << ".h\"\n\n";
  for (const std::string& include : includes) out << "#include " << include << "\n";
  out << "\n";
}

const char* truth(bool value) {
  return value ? "true" : "false";
}

// The view's last arguments: whether every row has a place of its own, whether tiles wait for their
// input, whether they are stored into the memory of the rank that owns them, and, if helper warps
// have tasks, how many parts they add up and whether they push any; where nothing overlaps, that.
void emit_variant(llvm::raw_ostream& out, const Plan& plan, const WovenKernel& kernel) {
  const tilepost_kernel_t& planned = plan.kernel;
  const bool has_tasks = plan.task_parts > 0 && planned.launch != TILEPOST_LAUNCH_HOST;
  std::string tasks = has_tasks ? ", " + std::to_string(plan.task_parts) : "";
  const bool warps_push = plan.pushes && plan.access == TILEPOST_ACCESS_WRITE;
  if (has_tasks && warps_push) tasks += ", true";
  // The host's threads order their stores whoever waits.
  if (plan.transport == TILEPOST_TRANSPORT_NONE && planned.launch != TILEPOST_LAUNCH_HOST)
    tasks = ", 0, false, false";
  out << "namespace " << namespace_of(plan) << " {\n\n"
      << "// The schedule and its counters as the kernel sees them: its last argument.\n"
      << "using View = tilepost::woven::View<tilepost::Layout::" << name_of(plan.map.layout) << ", "
      << plan.map.tile_m << ", " << plan.map.tile_n << ", "
      << truth(plan.routing == TILEPOST_ROUTING_ROWS) << ", "
      << truth(plan.map.division == TILEPOST_DIVISION_ARRIVALS) << ", " << truth(stores_tiles(plan))
      << tasks << ">;\n\n"
      << "// ---- The kernel: " << plan.source.file << ", specialised and woven\n\n"
      << kernel.body << "\n// ---- The plan\n\n";
  if (planned.launch != TILEPOST_LAUNCH_HOST)
    out << "static_assert(kThreads == " << planned.threads
        << " && kSharedBytes == " << planned.shared_bytes << ", \"the plan and " << planned.name
        << " disagree\");\n\n";
  out << emit_plan(plan) << "\n}  // namespace " << namespace_of(plan) << "\n\n";
}

}  // namespace

std::string emit_source(const Program& program, const std::vector<WovenKernel>& kernels) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const std::string& name = program.name();
  out << provenance(program);
  emit_includes(out, program, kernels);
  out << "static_assert(TILEPOST_ABI_VERSION == " << TILEPOST_ABI_VERSION << ", \"" << name
      << " was generated for another tilepost runtime; generate it again\");\n\n";
  emit_arch_check(out, program);
  for (size_t i = 0; i < kernels.size(); ++i) emit_variant(out, program.plans[i], kernels[i]);
  out << "extern \"C\" const tilepost_program_t* " << name << "_program(void) {\n"
      << "  static const tilepost_plan_t plans[] = {";
  for (size_t i = 0; i < program.plans.size(); ++i)
    out << (i ? ", " : "") << namespace_of(program.plans[i]) << "::make_plan()";
  out << "};\n  static const tilepost_program_t program = {" << TILEPOST_ABI_VERSION << ", \""
      << name << "\", " << program.plans.size() << ", plans};\n  return &program;\n}\n";
  return text;
}

}  // namespace tilepost
