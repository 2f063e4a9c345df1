#include "generator/verify/build.h"

#include "generator/verify/process.h"

namespace tilepost {

BuildResult build_harness(const BuildPlan& plan, int jobs, WorkDir& dir, Progress& progress,
                          Diagnostics& diagnostics) {
  std::vector<Command> commands = plan.compile;
  commands.push_back(plan.link);
  if (!dir.write("build.sh", shell_script(commands), diagnostics)) return BuildResult::not_written;
  if (run_commands(plan.compile, jobs, "compiling", progress, diagnostics) &&
      run_commands({plan.link}, 1, "linking", progress, diagnostics))
    return BuildResult::built;
  if (!interrupted() && dir.temporary()) {
    dir.keep();
    diagnostics.note({}, "the sources are in " + dir.path());
  }
  return BuildResult::failed;
}

}  // namespace tilepost
