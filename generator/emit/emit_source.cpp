#include <set>

#include "generator/emit/emit_cutlass.h"
#include "generator/emit/parts.h"
#include "generator/plan/variant.h"
#include "generator/spec/kernel/kernel_flags.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

// Emits a check for a kernel with different lines for each architecture: the file must be compiled
// for the architecture whose lines were read.
void emit_read_arch(llvm::raw_ostream& out, const Program& program) {
  const bool sm_90a = program.first().arch == Arch::sm_90a;
  const std::string name = name_of(program.first().arch);
  const std::string number = name.substr(3, 2);
  out << "#if defined(__CUDA_ARCH__) && "
      << (sm_90a ? "!TILEPOST_ARCH_SM_90A" : "__CUDA_ARCH__ != " + number + "0") << "\n#error \""
      << program.name() << ".cu has the lines of your kernel that are for " << name
      << ": compile with -gencode arch=compute_" << name.substr(3) << ",code=" << name
      << ", or generate it with another arch\"\n#endif\n\n";
}

// Emits a check that a file with a single sm_90a plan is compiled for sm_90a. Compiled for another
// architecture, the kernel would be without its instructions.
void emit_arch_check(llvm::raw_ostream& out, const Program& program,
                     const std::vector<WovenKernel>& kernels) {
  if (kernels.front().by_arch) return emit_read_arch(out, program);
  const auto& own = program.first().source.own;
  const bool sm_90a =
      program.first().kernel.launch == TILEPOST_LAUNCH_TMA || (own && own->spec.cutlass.value);
  if (!have_one_arch(program.plans) || !sm_90a) return;
  out << "#if defined(__CUDA_ARCH__) && !TILEPOST_ARCH_SM_90A\n#error \"" << program.name()
      << ".cu is planned for sm_90a, and for nothing else: compile with -gencode "
         "arch=compute_90a,code=sm_90a and without -arch, which may add compute_90\"\n"
         "#endif\n\n";
}

// Emits what the kernel's flags are, and checks for those that nvcc tells of. A build by hand may
// lack them.
void emit_flags(llvm::raw_ostream& out, const Program& program) {
  const auto& own = program.first().source.own;
  if (!own || own->spec.flags.value.empty() || program.host()) return;
  out << "// Flags of nvcc that the kernel needs: " << llvm::join(flags_of(own->spec), " ") << "\n";
  for (const std::string& flag : flags_of(own->spec))
    if (const std::string_view macro = macro_of_flag(flag); !macro.empty())
      out << "#if defined(__NVCC__) && !defined(" << macro << ")\n#error \"compile "
          << program.name() << ".cu with " << flag << ": kernel.flags asks for it\"\n#endif\n";
  out << "\n";
}

// Emits the lines that must stand in front of all inclusions, because these may include the same
// headers.
void emit_first(llvm::raw_ostream& out, const std::vector<WovenKernel>& kernels) {
  std::set<std::vector<std::string>> said{{}};
  for (const WovenKernel& kernel : kernels) {
    if (!said.insert(kernel.first).second) continue;
    out << "\n// As the kernel's author orders them, with macros that they ask for.\n";
    for (const std::string& line : kernel.first) out << line << "\n";
  }
}

void emit_includes(llvm::raw_ostream& out, const Program& program,
                   const std::vector<WovenKernel>& kernels) {
  std::set<std::string> includes;
  for (const WovenKernel& kernel : kernels)
    includes.insert(kernel.includes.begin(), kernel.includes.end());
  const bool own = program.first().source.own != nullptr;
  if (own && program.first().source.own->spec.cutlass.value) out << cutlass_preamble();
  if (program.host() && !own) {
    includes.insert("<tilepost/host/woven.h>");
  } else {
    includes.insert("<tilepost/device/arch.h>");
    includes.insert("<tilepost/device/woven.cuh>");
    if (own) includes.insert("<tilepost/internal/whole_numbers.h>");
  }
  for (const std::string& include : includes) out << "#include " << include << "\n";
  out << "\n";
}

// Emits the view's members that differ from those of tilepost::woven::View.
void emit_view(llvm::raw_ostream& out, const Plan& plan, bool timestamps) {
  out << "// The schedule and its counters as the kernel sees them, its last argument: what "
         "differs from\n// tilepost::woven::View.\n"
         "struct View : tilepost::woven::View {\n";
  std::vector<ViewConstants> view = view_of(plan);
  if (timestamps) view.push_back({"bool", "kStamps = true"});
  for (const ViewConstants& constants : view)
    out << "  static constexpr " << constants.type << " " << constants.values << ";\n";
  out << "};\n\n";
}

const char* how_made(const Plan& plan) {
  if (!plan.source.own) return ", specialised and woven";
  return plan.source.own->spec.cutlass.value ? ", by CUTLASS" : ", woven";
}

void emit_kernel(llvm::raw_ostream& out, const Plan& plan, const WovenKernel& kernel,
                 bool timestamps) {
  out << "namespace " << namespace_of(plan) << " {\n\n";
  emit_view(out, plan, timestamps);
  out << "// ---- The kernel: " << plan.source.file << how_made(plan) << "\n\n"
      << kernel.body << "\n";
}

// Emits a check that the kernel is launched with the threads and the memory that it was written
// for.
void emit_agreement(llvm::raw_ostream& out, const Plan& plan) {
  const tilepost_kernel_t& planned = plan.kernel;
  if (planned.launch == TILEPOST_LAUNCH_HOST || plan.source.own) return;
  out << "static_assert(kThreads == " << planned.threads
      << " && kSharedBytes == " << planned.shared_bytes << ", \"the plan and " << planned.name
      << " disagree\");\n\n";
}

void emit_variant(llvm::raw_ostream& out, const Plan& plan, const WovenKernel& kernel,
                  bool timestamps) {
  emit_kernel(out, plan, kernel, timestamps);
  out << "// ---- The plan\n\n";
  emit_agreement(out, plan);
  out << emit_plan(plan) << "\n}  // namespace " << namespace_of(plan) << "\n\n";
}

}  // namespace

std::string emit_source(const Program& program, const std::vector<WovenKernel>& kernels) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const std::string& name = program.name();
  out << provenance(program);
  emit_first(out, kernels);
  out << (kernels.front().first.empty() ? "" : "\n") << "#include \"" << name << ".h\"\n\n";
  emit_includes(out, program, kernels);
  out << "// Users may compile with this warning: what is defined here is declared nowhere else.\n"
         "#pragma GCC diagnostic ignored \"-Wmissing-declarations\"\n\n";
  out << "static_assert(TILEPOST_ABI_VERSION == " << TILEPOST_ABI_VERSION << ", \"" << name
      << " was generated for another tilepost runtime; generate it again\");\n\n";
  out << "static_assert(" << namespace_of(name) << "::kFiles == 0x" << program.set_hash << ", \""
      << name << ".h was not generated with this file; generate both again\");\n\n";
  emit_arch_check(out, program, kernels);
  emit_flags(out, program);
  for (size_t i = 0; i < kernels.size(); ++i)
    emit_variant(out, program.plans[i], kernels[i], program.timestamps);
  const std::string symbol = plan_symbol(program);
  out << "// Declared by the header of this set alone.\n"
      << "decltype(" << symbol << ") " << symbol << " = 0;\n\n"
      << "extern \"C\" const tilepost_program_t* " << name << "_program(void) {\n"
      << "  static const tilepost_plan_t plans[] = {";
  for (size_t i = 0; i < program.plans.size(); ++i)
    out << (i ? ", " : "") << namespace_of(program.plans[i]) << "::make_plan()";
  out << "};\n  static const tilepost_program_t program = {" << TILEPOST_ABI_VERSION << ", \""
      << name << "\", " << program.plans.size() << ", plans};\n  return &program;\n}\n";
  return text;
}

std::string emit_kernels(const Program& program, const std::vector<WovenKernel>& kernels) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << provenance(program);
  emit_first(out, kernels);
  if (!kernels.front().first.empty()) out << "\n";
  emit_includes(out, program, kernels);
  emit_arch_check(out, program, kernels);
  emit_flags(out, program);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Plan& plan = program.plans[i];
    emit_kernel(out, plan, kernels[i], program.timestamps);
    out << "}  // namespace " << namespace_of(plan) << (i + 1 < kernels.size() ? "\n\n" : "\n");
  }
  return text;
}

std::string emit_catalogued(const Plan& plan, const WovenKernel& kernel) {
  std::vector<Plan> renamed = {plan};
  renamed.front().name = "kernel";
  renamed.front().range = 0;
  const Program program{renamed, "", "", "", false};
  const std::vector<WovenKernel> kernels = {kernel};
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "// A kernel of a catalogue, woven by tilepost.\n\n";
  emit_includes(out, program, kernels);
  emit_kernel(out, renamed.front(), kernel, false);
  emit_agreement(out, renamed.front());
  out << "}  // namespace " << namespace_of(renamed.front()) << "\n";
  if (program.host())
    out << "\nextern \"C\" void " << kHostEntry
        << "(const void* a, const void* b, void* c, tilepost_shape_t shape,\n"
           "                 tilepost_epilogue_t epilogue, int worker, int workers,\n"
           "                 tilepost_view_t view) {\n  using namespace "
        << namespace_of(renamed.front()) << ";\n  " << plan.kernel.name
        << "(a, b, c, shape, epilogue, worker, workers, View{view});\n}\n";
  return text;
}

}  // namespace tilepost
