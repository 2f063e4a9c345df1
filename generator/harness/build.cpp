#include "generator/harness/build.h"

#include <algorithm>

#include "generator/harness/cache/cache.h"
#include "generator/harness/process.h"
#include "generator/resources.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace tilepost {

std::string object_name(llvm::StringRef source) {
  std::string name = source.str();
  std::replace(name.begin(), name.end(), '/', '_');
  return "obj/" + name + ".o";
}

std::vector<std::string> sources_under(const std::vector<std::string>& folders) {
  std::vector<std::string> sources;
  for (const Resource& resource : resources()) {
    const llvm::StringRef extension = llvm::sys::path::extension(resource.path);
    if (extension != ".cpp" && extension != ".cu") continue;
    const auto holds = [&](const std::string& folder) {
      return resource.path.starts_with(folder + "/");
    };
    if (llvm::any_of(folders, holds)) sources.push_back(resource.path.str());
  }
  return sources;
}

std::vector<std::string> runtime_folders(bool cuda) {
  return {"runtime/core", "runtime/map", "runtime/schedule",
          cuda ? "runtime/cuda" : "runtime/host"};
}

std::vector<std::string> runtime_sources(bool cuda) {
  return sources_under(runtime_folders(cuda));
}

Unit harness_unit(const std::vector<std::string>& sources) {
  Unit unit{"unit_harness.cpp", ""};
  for (const std::string& source : sources)
    if (llvm::StringRef(source).ends_with(".cpp")) unit.text += "#include \"" + source + "\"\n";
  return unit;
}

bool write_resources(bool templates, const WorkDir& dir, Diagnostics& diagnostics) {
  for (const Resource& resource : resources()) {
    const bool wanted = resource.path.starts_with("include/") ||
                        resource.path.starts_with("runtime/") ||
                        (templates && resource.path.starts_with("templates/"));
    if (wanted && !dir.write(resource.path, resource.text, diagnostics)) return false;
  }
  return dir.write("obj/README", "Objects and what the compiler said.\n", diagnostics);
}

void add_compile(std::vector<std::string> words, const std::string& source, double seconds,
                 const WorkDir& dir, BuildPlan& plan) {
  const std::string object = dir.path(object_name(source)), path = dir.path(source);
  for (const std::string& word :
       {"-I" + dir.path(), "-I" + dir.path("include"), std::string("-MD"), std::string("-MF"),
        object + ".d", std::string("-c"), path, std::string("-o"), object})
    words.push_back(word);
  const bool common = source == harness_unit({}).name || find_resource(source).has_value();
  (common ? plan.common : plan.compile)
      .push_back({std::move(words), object + ".log", seconds, path, object});
  plan.link.argv.push_back(object);
}

namespace {

// Removes the lists of headers that compilers wrote. Only the cache needs them, and they are full
// of this machine's paths, which a kept folder must not have.
void remove_header_lists(const std::vector<Command>& commands) {
  for (const Command& command : commands) llvm::sys::fs::remove(command.object + ".d");
}

}  // namespace

BuildResult build_harness(const BuildPlan& plan, int jobs, const std::string& cache, WorkDir& dir,
                          Progress& progress, Diagnostics& diagnostics) {
  std::vector<Command> commands = plan.compile;
  commands.insert(commands.end(), plan.common.begin(), plan.common.end());
  commands.push_back(plan.link);
  if (!dir.write("build.sh", shell_script(commands, dir.path()), diagnostics))
    return BuildResult::not_written;
  commands.pop_back();
  const CachedObjects kept(cache, plan.common, dir);
  const bool found = kept.restore(diagnostics);
  if (run_commands(found ? plan.compile : commands, jobs, "compiling", progress, diagnostics)) {
    if (!found) kept.store(diagnostics);
    remove_header_lists(commands);
    if (run_commands({plan.link}, 1, "linking", progress, diagnostics)) return BuildResult::built;
  }
  if (!interrupted() && dir.temporary()) {
    dir.keep();
    diagnostics.note({}, "the sources are in " + dir.path());
  }
  return BuildResult::failed;
}

}  // namespace tilepost
