#include "generator/bundle/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "generator/bundle/texts.h"
#include "generator/printable.h"
#include "generator/resources.h"
#include "generator/verify/harness.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

bool is_cuda(const HarnessProgram& program) {
  return program.plans.front().arch != Arch::host;
}

// One program for each case; fewer if some are rejected.
std::vector<HarnessProgram> plan_programs(const std::vector<Case>& cases,
                                          Diagnostics& diagnostics) {
  std::vector<HarnessProgram> programs;
  for (const Case& each : cases) {
    const Input input = each.named();
    std::vector<Plan> plans = plan_input(input, diagnostics);
    if (plans.empty()) {
      if (!each.varied.empty()) diagnostics.note({}, "with " + each.varied);
      continue;
    }
    const std::string name = plans.front().name;
    if (const auto& own = plans.front().source.own; own && own->spec.cutlass.value)
      diagnostics.error(own->spec.cutlass.where,
                        "a bundle has all that it is compiled from, and a kernel of adapter "
                        "'cutlass' needs its file and CUTLASS's headers; use 'generate', and "
                        "compile what it writes with these");
    programs.push_back({name, llvm::sys::path::filename(input.path).str(), "", std::move(plans)});
  }
  return programs;
}

// What to do about two specs of one name.
const char* cure_of_names(const Input& input) {
  const bool overridden =
      llvm::any_of(input.overrides, [](const Override& each) { return each.path == "name"; });
  return overridden ? "--name gives all specs one name: leave it out, and name them in their files"
                    : "change the name in one of the files";
}

// The programs are those of the cases, in their order.
bool go_together(const std::vector<Case>& cases, const std::vector<HarnessProgram>& programs,
                 Diagnostics& diagnostics) {
  // By the name of the operation in lower case: in some file systems files are one whose names
  // differ in case alone.
  std::map<std::string, std::pair<std::string, const Input*>> inputs_of;
  for (const auto& [each, program] : llvm::zip_equal(cases, programs)) {
    const Input& input = each.input;
    const auto [first, is_new] =
        inputs_of.emplace(llvm::StringRef(program.name).lower(), std::pair(program.name, &input));
    const auto& [name, other] = first->second;
    if (!is_new && name == program.name)
      diagnostics.error(fmt::format(
          "two operations of one bundle are called '{}', that of '{}' and that of '{}'; {}", name,
          printable(other->path), printable(input.path), cure_of_names(input)));
    else if (!is_new)
      diagnostics.error(fmt::format(
          "the operations '{}' of '{}' and '{}' of '{}' differ in case alone, and not every file "
          "system tells their files apart; change the name in one of the files",
          name, printable(other->path), program.name, printable(input.path)));
    if (is_cuda(program) != is_cuda(programs.front()))
      diagnostics.error(
          fmt::format("a bundle is for one target: '{}' is for {}, '{}' for {}; make two bundles",
                      programs.front().name, name_of(programs.front().plans.front().arch),
                      program.name, name_of(program.plans.front().arch)));
  }
  return diagnostics.ok();
}

// Whether a bundle for the target holds this file of the tool's.
bool holds(llvm::StringRef path, bool cuda) {
  std::vector<std::string> folders = runtime_folders(cuda);
  folders.insert(folders.end(), {"runtime/harness", "runtime/verify", "include/tilepost"});
  const llvm::StringRef others[] = {
      cuda ? "include/tilepost/host/" : "include/tilepost/device/",
      cuda ? "runtime/verify/host/" : "runtime/verify/cuda/",
  };
  const auto is_in = [&](llvm::StringRef folder) { return path.starts_with(folder); };
  return path == "LICENSE" || (cuda && path == "cmake/FindNCCL.cmake") ||
         (llvm::any_of(folders, [&](const std::string& folder) { return is_in(folder + "/"); }) &&
          llvm::none_of(others, is_in));
}

// A version that is equal for equal runtimes only. A project may have several bundles, and then one
// runtime serves them all.
std::string runtime_version(const std::vector<OutputFile>& carried,
                            const std::vector<HarnessProgram>& programs) {
  std::string all;
  for (const OutputFile& file : carried) all += file.name + "\n" + file.text;
  std::string version = fmt::format("{} {:016x}", TILEPOST_VERSION_STRING, llvm::xxh3_64bits(all));
  for (const Arch arch : archs_of(programs)) version += std::string(" ") + name_of(arch);
  return version;
}

std::string list_of(const std::vector<OutputFile>& files) {
  std::string text = std::string(kBundleListHead) + "\n";
  for (const OutputFile& file : files) text += file.name + "\n";
  return text;
}

}  // namespace

std::vector<OutputFile> make_bundle(const std::vector<Input>& inputs,
                                    const std::vector<Sweep>& sweeps,
                                    const std::vector<Shape>& shapes, Diagnostics& diagnostics) {
  const std::vector<Case> cases = expand(inputs, sweeps, shapes);
  const std::vector<HarnessProgram> programs = plan_programs(cases, diagnostics);
  if (!diagnostics.ok() || !go_together(cases, programs, diagnostics)) return {};
  const bool cuda = is_cuda(programs.front());

  std::vector<OutputFile> files;
  for (const Resource& resource : resources())
    if (holds(resource.path, cuda)) files.push_back({resource.path.str(), resource.text.str()});
  BundleContents contents{inputs, sweeps, shapes, programs, cuda, runtime_sources(cuda), {}, ""};
  for (const std::string& source : sources_under({"runtime/verify/cuda"}))
    if (cuda && llvm::StringRef(source).ends_with(".cu")) contents.check_kernels.push_back(source);
  contents.runtime_version = runtime_version(files, programs);

  for (const HarnessProgram& program : programs)
    for (OutputFile& file :
         emit(program.plans, program.spec_name, diagnostics, inputs.front().timestamps))
      files.push_back({"generated/" + file.name, std::move(file.text)});
  if (!diagnostics.ok()) return {};
  files.push_back({"check/check.cpp", verify_unit(cuda).text});
  files.push_back({"check/registry.cpp", emit_registry(programs, /*audited=*/false)});
  files.push_back({"Makefile", bundle_makefile(contents)});
  files.push_back({"CMakeLists.txt", bundle_cmakelists(contents)});
  files.push_back({"README.md", bundle_readme(contents)});
  files.push_back({kBundleList, ""});
  llvm::sort(files, [](const OutputFile& x, const OutputFile& y) { return x.name < y.name; });
  for (OutputFile& file : files)
    if (file.name == kBundleList) file.text = list_of(files);
  return files;
}

}  // namespace tilepost
