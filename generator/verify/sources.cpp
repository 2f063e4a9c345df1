#include "generator/verify/sources.h"

#include "generator/resources.h"
#include "generator/verify/build.h"
#include "generator/verify/process.h"

namespace tilepost {
namespace {

bool write_units(const std::vector<Unit>& units, const WorkDir& dir, Diagnostics& diagnostics) {
  for (const Unit& unit : units)
    if (!dir.write(unit.name, unit.text, diagnostics)) return false;
  return true;
}

}  // namespace

bool write_resources(bool templates, const WorkDir& dir, Diagnostics& diagnostics) {
  for (const Resource& resource : resources())
    if ((templates || !resource.path.starts_with("templates/")) &&
        !dir.write(resource.path, resource.text, diagnostics))
      return false;
  return dir.write("obj/README", "Objects and what the compiler said.\n", diagnostics);
}

SourcesResult write_programs(const std::vector<VerifyProgram>& programs, const WorkDir& dir,
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
  }
  return SourcesResult::written;
}

SourcesResult write_sources(const std::vector<VerifyProgram>& programs, bool cuda,
                            const WorkDir& dir, Progress& progress, Diagnostics& diagnostics) {
  const bool written = write_resources(/*templates=*/false, dir, diagnostics) &&
                       dir.write("registry.cpp", emit_registry(programs), diagnostics) &&
                       write_units({verify_unit(cuda)}, dir, diagnostics) &&
                       (cuda || write_units(program_units(programs), dir, diagnostics));
  if (!written) return SourcesResult::not_written;
  return write_programs(programs, dir, progress, diagnostics);
}

}  // namespace tilepost
