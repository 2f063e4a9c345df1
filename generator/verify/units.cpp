#include <algorithm>

#include "generator/resources.h"
#include "generator/verify/build.h"
#include "llvm/ADT/STLExtras.h"
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

Unit harness_unit(const std::vector<std::string>& sources) {
  Unit unit{"unit_harness.cpp", ""};
  for (const std::string& source : sources)
    if (llvm::StringRef(source).ends_with(".cpp")) unit.text += "#include \"" + source + "\"\n";
  return unit;
}

Unit verify_unit(bool cuda) {
  std::vector<std::string> sources = sources_under({"runtime/harness", "runtime/verify"});
  const llvm::StringRef other = cuda ? "runtime/verify/host/" : "runtime/verify/cuda/";
  llvm::erase_if(sources, [&](llvm::StringRef source) { return source.starts_with(other); });
  return harness_unit(sources);
}

std::vector<Unit> program_units(const std::vector<VerifyProgram>& programs) {
  std::vector<Unit> units;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (i % kProgramsPerUnit == 0)
      units.push_back({"unit_" + std::to_string(units.size()) + ".cpp", ""});
    units.back().text += "#include \"programs/" + programs[i].name + ".cpp\"\n";
  }
  return units;
}

}  // namespace tilepost
