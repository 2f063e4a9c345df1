#include "generator/verify/build.h"

namespace tilepost {
namespace {

constexpr double kCompileSeconds = 600;

}  // namespace

BuildPlan plan_host_build(const std::vector<VerifyProgram>& programs, const std::string& compiler,
                          const WorkDir& dir) {
  // The longest first.
  std::vector<std::string> sources;
  for (const Unit& unit : program_units(programs)) sources.push_back(unit.name);
  sources.push_back(verify_unit(/*cuda=*/false).name);
  for (const std::string& source : sources_under({"runtime/core", "runtime/map", "runtime/host"}))
    sources.push_back(source);
  sources.push_back("registry.cpp");

  BuildPlan plan;
  plan.harness = dir.path("harness");
  plan.link = {
      {compiler, "-pthread", "-o", plan.harness}, dir.path("obj/link.log"), kCompileSeconds};
  for (const std::string& source : sources) {
    const std::string object = dir.path(object_name(source));
    plan.compile.push_back({{compiler, "-std=c++20", "-O2", "-pthread", "-I" + dir.path(),
                             "-I" + dir.path("include"), "-c", dir.path(source), "-o", object},
                            object + ".log",
                            kCompileSeconds});
    plan.link.argv.push_back(object);
  }
  return plan;
}

}  // namespace tilepost
