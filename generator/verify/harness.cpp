#include "generator/verify/harness.h"

#include "generator/emit/emit_own.h"
#include "generator/printable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

constexpr double kCompileSeconds = 600;  // how long compiling a source for the host may take

// Groups are chosen with floating-point numbers, and every rank must choose the same groups. So no
// multiplication is contracted with an addition.
constexpr const char* kHostFlags[] = {"-std=c++20", "-O2", "-pthread", "-ffp-contract=off"};

bool write_units(const std::vector<Unit>& units, const WorkDir& dir, Diagnostics& diagnostics) {
  for (const Unit& unit : units)
    if (!dir.write(unit.name, unit.text, diagnostics)) return false;
  return true;
}

}  // namespace

std::string emit_registry(const std::vector<HarnessProgram>& programs, bool audited) {
  const auto plain = [&](const HarnessProgram& program) { return audited && is_audited(program); };
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "#include \"runtime/verify/registry.h\"\n\n";
  for (const HarnessProgram& program : programs)
    out << "extern \"C\" const tilepost_program_t* " << program.name << "_program(void);\n";
  for (const HarnessProgram& program : programs)
    if (plain(program))
      out << "tilepost::harness::PlainLaunch " << plain_function(program.name) << "();\n";
  out << "\nnamespace tilepost::verify {\nnamespace {\n\nconstexpr Entry kEntries[] = {\n";
  for (const HarnessProgram& program : programs)
    out << "    {" << c_literal(program.name) << ", " << c_literal(program.varied) << ", "
        << program.name << "_program" << (plain(program) ? ", " + plain_function(program.name) : "")
        << "},\n";
  out << "};\n\n}  // namespace\n\nRegistry registry() {\n  return {kEntries, " << programs.size()
      << "};\n}\n\n}  // namespace tilepost::verify\n";
  return text;
}

Unit verify_unit(bool cuda) {
  std::vector<std::string> sources = sources_under({"runtime/harness", "runtime/verify"});
  const llvm::StringRef other = cuda ? "runtime/verify/host/" : "runtime/verify/cuda/";
  llvm::erase_if(sources, [&](llvm::StringRef source) { return source.starts_with(other); });
  return harness_unit(sources);
}

std::vector<Unit> program_units(const std::vector<HarnessProgram>& programs) {
  std::vector<Unit> units;
  size_t count = 0;
  for (const HarnessProgram& program : programs) {
    if (has_plain(program)) continue;  // compiled alone, because it has headers of its own
    if (count++ % kProgramsPerUnit == 0)
      units.push_back({"unit_" + std::to_string(units.size()) + ".cpp", ""});
    units.back().text += "#include \"programs/" + program.name + ".cpp\"\n";
  }
  return units;
}

SourcesResult write_sources(const std::vector<HarnessProgram>& programs, bool cuda,
                            const WorkDir& dir, Progress& progress, Diagnostics& diagnostics) {
  const bool written =
      write_resources(/*templates=*/false, dir, diagnostics) &&
      dir.write("registry.cpp", emit_registry(programs, /*audited=*/true), diagnostics) &&
      write_units({verify_unit(cuda)}, dir, diagnostics) &&
      (cuda || write_units(program_units(programs), dir, diagnostics));
  if (!written) return SourcesResult::not_written;
  return write_programs(programs, dir, progress, diagnostics);
}

BuildPlan plan_host_build(const std::vector<HarnessProgram>& programs,
                          const std::vector<std::string>& compiler, const WorkDir& dir) {
  // The sources that take longest to compile come first.
  std::vector<std::string> sources;
  for (const HarnessProgram& program : programs)
    if (has_plain(program))
      for (const std::string& source : {"programs/" + program.name + ".cpp", plain_source(program)})
        sources.push_back(source);
  const size_t on_shim = sources.size();
  for (const Unit& unit : program_units(programs)) sources.push_back(unit.name);
  sources.push_back(verify_unit(/*cuda=*/false).name);
  for (const std::string& source : runtime_sources(/*cuda=*/false)) sources.push_back(source);
  sources.push_back("registry.cpp");

  BuildPlan plan;
  plan.harness = dir.path("harness");
  const auto command = [&](std::initializer_list<std::string> words) {
    std::vector<std::string> argv = compiler;
    argv.insert(argv.end(), words);
    return argv;
  };
  plan.link = {command({"-pthread", "-o", plan.harness}), dir.path("obj/link.log"),
               kCompileSeconds};
  for (size_t i = 0; i < sources.size(); ++i) {
    std::vector<std::string> words = compiler;
    words.insert(words.end(), std::begin(kHostFlags), std::end(kHostFlags));
    if (i < on_shim) words.insert(words.end(), {"-w", "-I" + dir.path(kShimHeaders)});
    add_compile(std::move(words), sources[i], kCompileSeconds, dir, plan);
  }
  return plan;
}

BuildPlan plan_cuda_build(const std::vector<HarnessProgram>& programs, const CudaTools& tools,
                          int sm, const WorkDir& dir) {
  CudaBuild build(tools, dir);
  for (const HarnessProgram& program : programs)
    build.add_program(program, gpu_code(chosen_plan(program, sm)->arch, sm), has_plain(program));
  const std::vector<std::string> own = gpu_code(sm);
  build.add(verify_unit(/*cuda=*/true).name, own);
  build.add_runtime(sm);
  for (const std::string& source : sources_under({"runtime/verify/cuda"}))
    if (llvm::StringRef(source).ends_with(".cu")) build.add(source, own);
  build.add("registry.cpp", own);
  return build.finish();
}

}  // namespace tilepost
