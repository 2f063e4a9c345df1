#include "generator/verify/programs.h"

#include <map>
#include <set>

#include "generator/plan/make_plan.h"
#include "generator/verify/process.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

void rename(VerifyProgram& program, const std::string& name) {
  program.name = name;
  for (Plan& plan : program.plans) plan.name = name;
}

}  // namespace

std::string literal(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream stream(result);
  stream << '"';
  llvm::printEscapedString(text, stream);
  stream << '"';
  return result;
}

std::vector<VerifyProgram> plan_cases(const std::vector<Case>& cases, Progress& progress,
                                      Diagnostics& diagnostics) {
  std::vector<VerifyProgram> programs;
  for (const Case& each : cases) {
    if (interrupted() || diagnostics.errors() >= Diagnostics::kMaxErrors) return {};
    progress.update("planning", programs.size(), cases.size());
    std::vector<Plan> plans = plan_input(each.input, diagnostics);
    if (plans.empty()) {
      if (!each.varied.empty()) diagnostics.note({}, "with " + each.varied);
      continue;
    }
    const std::string name = plans.front().name;
    programs.push_back(
        {name, llvm::sys::path::filename(each.input.path).str(), each.hidden, std::move(plans)});
  }
  return diagnostics.ok() ? programs : std::vector<VerifyProgram>{};
}

std::vector<VerifyProgram> on_host(const std::vector<VerifyProgram>& programs) {
  std::vector<VerifyProgram> result;
  for (const VerifyProgram& program : programs)
    for (const Plan& plan : program.plans) {
      VerifyProgram twin = program;
      twin.plans = {plan.arch == Arch::host ? plan : host_twin(plan)};
      if (program.plans.size() > 1) {
        const std::string arch = std::string("as ") + name_of(plan.arch);
        twin.varied += (twin.varied.empty() ? "" : ", ") + arch;
      }
      result.push_back(std::move(twin));
    }
  return result;
}

void make_names_unique(std::vector<VerifyProgram>& programs) {
  std::map<std::string, int> uses;
  for (const VerifyProgram& program : programs) ++uses[program.name];
  std::set<std::string> taken;
  for (const auto& [name, count] : uses)
    if (count == 1) taken.insert(name);
  std::map<std::string, int> last;
  for (VerifyProgram& program : programs) {
    const std::string base = program.name;
    std::string name = base;
    while (uses[base] > 1 && (name == base || !taken.insert(name).second))
      name = base + "_" + std::to_string(++last[base]);
    rename(program, name);
  }
}

std::string emit_registry(const std::vector<VerifyProgram>& programs) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "#include \"runtime/verify/registry.h\"\n\n";
  for (const VerifyProgram& program : programs)
    out << "extern \"C\" const tilepost_program_t* " << program.name << "_program(void);\n";
  out << "\nnamespace tilepost::verify {\nnamespace {\n\nconstexpr Entry kEntries[] = {\n";
  for (const VerifyProgram& program : programs)
    out << "    {" << literal(program.name) << ", " << literal(program.varied) << ", "
        << program.name << "_program},\n";
  out << "};\n\n}  // namespace\n\nRegistry registry() {\n  return {kEntries, " << programs.size()
      << "};\n}\n\n}  // namespace tilepost::verify\n";
  return text;
}

}  // namespace tilepost
