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

// The sources whose folder `wanted` accepts.
template <class Wanted>
static std::vector<std::string> sources_where(Wanted wanted) {
  std::vector<std::string> sources;
  for (const Resource& resource : resources()) {
    const llvm::StringRef extension = llvm::sys::path::extension(resource.path);
    if (extension != ".cpp" && extension != ".cu") continue;
    if (wanted(llvm::sys::path::parent_path(resource.path))) sources.push_back(resource.path.str());
  }
  return sources;
}

std::vector<std::string> sources_in(const std::vector<std::string>& folders) {
  return sources_where([&](llvm::StringRef folder) { return llvm::is_contained(folders, folder); });
}

std::vector<std::string> sources_under(const std::vector<std::string>& folders) {
  return sources_where([&](llvm::StringRef folder) {
    return llvm::any_of(folders, [&](const std::string& top) {
      return folder == top || folder.starts_with(top + "/");
    });
  });
}

Unit harness_unit(const std::vector<std::string>& sources) {
  Unit unit{"unit_harness.cpp", ""};
  for (const std::string& source : sources)
    if (llvm::StringRef(source).ends_with(".cpp")) unit.text += "#include \"" + source + "\"\n";
  return unit;
}

Unit verify_unit(bool cuda) {
  return harness_unit(
      sources_in({"runtime/verify", cuda ? "runtime/verify/cuda" : "runtime/verify/host"}));
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
