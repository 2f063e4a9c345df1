#include "generator/catalogue/catalogue.h"

#include <fmt/format.h>

#include "generator/catalogue/manifest.h"
#include "generator/harness/build.h"
#include "generator/harness/process.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/variant.h"
#include "generator/program/catalogue.h"
#include "generator/silent_diagnostics.h"
#include "generator/whole_files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/xxhash.h"

namespace tilepost {
namespace {

constexpr double kCompileSeconds = 900;

// A kernel's source, and what it is compiled to.
struct Kernel {
  Arch arch;
  std::string file;    // in the catalogue: "0123456789abcdef.cubin"
  std::string source;  // in the working folder
};

// The file of a kernel with this source. It is named after the source, so that a file that is there
// never has to be compiled again.
std::string file_of(Arch arch, const std::string& source) {
  return fmt::format("{:016x}.{}", llvm::xxh3_64bits(source), arch == Arch::host ? "so" : "cubin");
}

// Looks for compilers when they are first needed.
class Compilers {
 public:
  // The command that makes `object` of a kernel; nothing, with the reason reported, if its compiler
  // is missing.
  std::optional<Command> command(const Kernel& kernel, const WorkDir& dir,
                                 Diagnostics& diagnostics) {
    std::vector<std::string> words = kernel.arch == Arch::host ? for_host() : for_gpu(kernel.arch);
    if (words.empty()) {
      diagnostics.error(fmt::format("cannot compile kernels for {}: looked for {}",
                                    name_of(kernel.arch), missing_));
      return std::nullopt;
    }
    const std::string object = dir.path("obj/" + kernel.file);
    for (const std::string& word :
         {"-I" + dir.path("include"), dir.path(kernel.source), std::string("-o"), object})
      words.push_back(word);
    return Command{std::move(words), object + ".log", kCompileSeconds};
  }

 private:
  std::vector<std::string> for_host() {
    if (host_.empty()) host_ = find_host_compiler(missing_);
    std::vector<std::string> words = host_;
    if (!words.empty())
      for (const char* flag : {"-std=c++20", "-O3", "-ffp-contract=off", "-fPIC", "-shared"})
        words.emplace_back(flag);
    return words;
  }
  std::vector<std::string> for_gpu(Arch arch) {
    if (nvcc_.empty()) nvcc_ = find_nvcc(missing_);
    if (nvcc_.empty()) return {};
    std::vector<std::string> words = {nvcc_, "-std=c++20", "-O3", "-cubin"};
    for (const std::string& flag : gpu_code(arch, compute_capability(arch))) words.push_back(flag);
    return words;
  }

  std::vector<std::string> host_;
  std::string nvcc_, missing_;
};

// Weaves all kernels. Kernels with the same source share a file. Returns false after an error.
bool weave_all(const Variants& variants, const WorkDir& dir, ManifestFiles& files,
               std::map<std::string, Kernel>& kernels, Progress& progress,
               Diagnostics& diagnostics) {
  size_t done = 0;
  for (const auto& [key, plan] : variants.plans()) {
    if (interrupted()) return false;
    progress.update("weaving", done++, variants.plans().size());
    const std::string text = emit_for_catalogue(plan, diagnostics);
    if (text.empty()) return false;
    const std::string file = file_of(plan.arch, text);
    const std::string source = file + (plan.arch == Arch::host ? ".cpp" : ".cu");
    files[key] = file;
    if (!kernels.try_emplace(file, Kernel{plan.arch, file, source}).second) continue;
    if (!dir.write(source, text, diagnostics)) return false;
  }
  return true;
}

// The kernels that the folder has already.
ManifestFiles known_files(const std::string& folder) {
  const std::optional<std::string> text = text_of_file(joined(folder, kManifest));
  return text ? read_manifest(*text).value_or(ManifestFiles()) : ManifestFiles();
}

}  // namespace

bool Variants::add(const std::vector<Plan>& plans, Diagnostics& diagnostics) {
  for (const Plan& plan : plans) {
    if (plan.source.own) {
      diagnostics.error(fmt::format(
          "'{}' has a kernel of your own, and a catalogue has bundled kernels alone; generate it",
          plan.name));
      return false;
    }
    plans_.try_emplace(variant_of(plan).key(), plan);
  }
  return true;
}

void Variants::try_fields(const std::vector<FieldText>& fields, const MachineProfile& machine,
                          const HasKernel& has_kernel) {
  SilentDiagnostics diagnostics;
  const std::optional<Spec> spec = read_fields(fields, diagnostics);
  if (spec) add(make_plans(*spec, machine, diagnostics, has_kernel), diagnostics);
}

std::vector<OutputFile> compile_catalogue(const Variants& variants, const std::string& folder,
                                          int jobs, Progress& progress, Diagnostics& diagnostics) {
  const WorkDir dir("", diagnostics);
  if (!dir.ok() || !write_resources(/*templates=*/false, dir, diagnostics)) return {};
  ManifestFiles files = known_files(folder);
  std::map<std::string, Kernel> kernels;
  if (!weave_all(variants, dir, files, kernels, progress, diagnostics)) return {};
  std::erase_if(kernels, [&](const auto& kernel) {
    return llvm::sys::fs::exists(joined(folder, kernel.first));
  });
  Compilers compilers;
  std::vector<Command> commands;
  for (const auto& [file, kernel] : kernels) {
    std::optional<Command> command = compilers.command(kernel, dir, diagnostics);
    if (!command) return {};
    commands.push_back(std::move(*command));
  }
  if (!run_commands(commands, jobs, "compiling", progress, diagnostics)) return {};
  std::vector<OutputFile> output;
  for (const auto& [file, kernel] : kernels) {
    std::optional<std::string> object = text_of_file(dir.path("obj/" + file));
    if (!object) {
      diagnostics.error(fmt::format("the compiler has not written '{}'", file));
      return {};
    }
    output.push_back({file, std::move(*object)});
  }
  output.push_back({kManifest, write_manifest(files)});
  return output;
}

}  // namespace tilepost
