#include "generator/bench/harness.h"

#include <map>

#include "generator/emit/emit_own.h"
#include "generator/printable.h"
#include "generator/resources.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

// A key that differs if the plain kernels' texts differ.
std::string key_of(const Plan& plan) {
  std::string key = plan.source.file + " " + plan.kernel.name + " " + name_of(plan.arch);
  for (const auto& [name, value] : plan.source.tunables) key += " " + name + "=" + value;
  return key;
}

// Whether the plan's template computes the plan's product un-woven. That of experts then has one
// expert, which has all rows.
bool has_template(const HarnessProgram& program) {
  return !has_plain(program) && !row_of(program.plans.front()).has_experts();
}

// The template's own includes. They must not be in the namespace that the template is put into.
std::string includes_of(const std::string& path) {
  std::string text;
  llvm::SmallVector<llvm::StringRef> lines;
  find_resource(path).value_or("").split(lines, '\n');
  for (const llvm::StringRef line : lines)
    if (line.starts_with("#include")) text += line.str() + "\n";
  return text;
}

// The planned value of a tunable, except for LENDS: un-woven helper warps do nothing, so they
// cannot hand panels on.
std::string unwoven_value(const std::string& tunable, const std::string& value) {
  return tunable == "LENDS" ? "0" : value;
}

std::string registry_text(const std::vector<HarnessProgram>& programs,
                          const BenchHarness& harness) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "#include \"runtime/bench/registry.h\"\n\n";
  for (const HarnessProgram& program : programs)
    out << "extern \"C\" const tilepost_program_t* " << program.name << "_program(void);\n";
  for (const PlainSource& plain : harness.plain)
    out << "tilepost::bench::PlainKernel " << plain.name << "();\n";
  for (const HarnessProgram& program : programs)
    if (has_plain(program))
      out << "tilepost::harness::PlainLaunch " << plain_function(program.name) << "();\n";
  out << "\nnamespace tilepost::bench {\nnamespace {\n\nconstexpr Entry kEntries[] = {\n";
  for (size_t i = 0; i < programs.size(); ++i)
    out << "    {" << c_literal(programs[i].name) << ", " << programs[i].name << "_program, "
        << (has_plain(programs[i]) ? "nullptr, " + plain_function(programs[i].name)
            : harness.plain.empty() || !has_template(programs[i])
                ? "nullptr"
                : harness.plain[harness.plain_of[i]].name)
        << "},\n";
  out << "};\n\n}  // namespace\n\nRegistry registry() {\n  return {kEntries, " << programs.size()
      << "};\n}\n\n}  // namespace tilepost::bench\n";
  return text;
}

std::vector<std::string> harness_sources() {
  return sources_under({"runtime/harness", "runtime/bench"});
}

}  // namespace

std::string plain_kernel_text(const Plan& plan, const std::string& name) {
  const std::string path = "templates/" + plan.source.file;
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "// " << plan.source.file << ", un-woven, with the numbers of a plan.\n"
      << includes_of(path) << "\n#include <string_view>\n\n#include \"runtime/bench/registry.h\"\n"
      << "\nnamespace tilepost {\n\n"
      << "// The planned number of this name.\ntemplate <class T>\n"
      << "constexpr T planned(std::string_view name, T fallback) {\n";
  for (const auto& [tunable, value] : plan.source.tunables)
    out << "  if (name == " << c_literal(tunable) << ") return static_cast<T>("
        << unwoven_value(tunable, value) << ");\n";
  out << "  return fallback;\n}\n\n}  // namespace tilepost\n\n"
      << "#define tunable(name, fallback) planned(name, fallback)\nnamespace " << name
      << "_kernel {\n#include \"" << path << "\"\n}\n#undef tunable\n\n"
      << "tilepost::bench::PlainKernel " << name << "() {\n  using namespace " << name
      << "_kernel;\n  return {reinterpret_cast<const void*>(&" << plan.kernel.name
      << "), kThreads, kSharedBytes};\n}\n";
  return text;
}

BenchHarness make_bench_harness(const std::vector<HarnessProgram>& programs) {
  BenchHarness harness;
  std::map<std::string, size_t> known;
  for (const HarnessProgram& program : programs) {
    const Plan& plan = program.plans.front();
    if (!has_template(program)) {
      harness.plain_of.push_back(harness.plain.size());
      continue;
    }
    const auto [found, fresh] = known.emplace(key_of(plan), harness.plain.size());
    if (fresh) {
      const std::string name = "plain_" + std::to_string(harness.plain.size());
      harness.plain.push_back({name, plan.arch, plain_kernel_text(plan, name)});
    }
    harness.plain_of.push_back(found->second);
  }
  return harness;
}

SourcesResult write_bench_sources(const std::vector<HarnessProgram>& programs,
                                  const BenchHarness& harness, const WorkDir& dir,
                                  Progress& progress, Diagnostics& diagnostics) {
  const Unit unit = harness_unit(harness_sources());
  if (!write_resources(/*templates=*/true, dir, diagnostics) ||
      !dir.write("registry.cpp", registry_text(programs, harness), diagnostics) ||
      !dir.write(unit.name, unit.text, diagnostics))
    return SourcesResult::not_written;
  for (const PlainSource& plain : harness.plain)
    if (!dir.write("programs/" + plain.name + ".cu", plain.text, diagnostics))
      return SourcesResult::not_written;
  return write_programs(programs, dir, progress, diagnostics);
}

// The sources that take longest to compile come first.
BuildPlan plan_bench_build(const std::vector<HarnessProgram>& programs, const BenchHarness& harness,
                           const CudaTools& tools, const std::string& cublas_lt, int sm,
                           const WorkDir& dir) {
  CudaBuild build(tools, dir);
  const std::vector<std::string> own = gpu_code(sm);
  build.add(harness_unit({}).name, own);
  for (const PlainSource& plain : harness.plain)
    build.add("programs/" + plain.name + ".cu", gpu_code(plain.arch, sm));
  for (const HarnessProgram& program : programs) {
    build.add_program(program, gpu_code(program.plans.front().arch, sm), has_plain(program));
  }
  for (const std::string& source : harness_sources())
    if (llvm::StringRef(source).ends_with(".cu")) build.add(source, own);
  build.add_runtime(sm);
  build.add("registry.cpp", own);
  build.link_library(cublas_lt);
  return build.finish();
}

}  // namespace tilepost
