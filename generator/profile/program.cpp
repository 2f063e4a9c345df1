#include "generator/profile/program.h"

#include <fmt/format.h>

#include "generator/bench/harness.h"
#include "generator/emit/parts.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost {
namespace {

std::string file_of(const GemmVariant& variant) {
  return "programs/" + variant.name + ".cu";
}

// The kernel, un-woven, and its plan in the same namespace: the plan names the kernel's function.
std::string kernel_text(const GemmVariant& variant) {
  return plain_kernel_text(variant.plan, variant.name) +
         fmt::format(
             "#include \"tilepost/plan.h\"\n\nnamespace {0}_kernel {{\nnamespace {{\n\n{1}\n"
             "}}  // namespace\n}}  // namespace {0}_kernel\n\n"
             "tilepost_plan_t {0}_plan() {{ return {0}_kernel::make_plan(); }}\n",
             variant.name, emit_plan(variant.plan));
}

std::string gemm_text(const GemmCase& gemm) {
  return fmt::format("{{{}, {}, {}, {}, {}}}", gemm.variant, gemm.m, gemm.n, gemm.k, gemm.ctas);
}

void add_list(std::string& text, const char* name, const std::vector<GemmCase>& list) {
  text += fmt::format("constexpr Gemm {}[] = {{\n", name);
  for (const GemmCase& gemm : list) text += "    " + gemm_text(gemm) + ",\n";
  text += "};\n";
}

std::string registry_text(const GemmCases& cases) {
  std::string text = "#include \"runtime/profile/registry.h\"\n\n";
  for (const GemmVariant& variant : cases.variants)
    text += fmt::format("tilepost_plan_t {}_plan();\n", variant.name);
  text += "\nnamespace tilepost::profile {\nnamespace {\n\nconstexpr Kernel kKernels[] = {\n";
  for (const GemmVariant& variant : cases.variants)
    text += fmt::format("    {{\"{0}\", {0}_plan}},\n", variant.name);
  text += "};\n";
  add_list(text, "kCool", cases.cool);
  add_list(text, "kSustained", cases.sustained);
  text += fmt::format(
      "\n}}  // namespace\n\nWork work() {{\n  return {{kKernels, {}, kCool, {}, kSustained, {}, "
      "{}}};\n"
      "}}\n\n}}  // namespace tilepost::profile\n",
      cases.variants.size(), cases.cool.size(), cases.sustained.size(), gemm_text(cases.beside));
  return text;
}

// The parts of the bench harness that measure GEMMs, without its main program.
std::vector<std::string> bench_sources() {
  std::vector<std::string> sources = sources_under({"runtime/harness", "runtime/bench"});
  std::erase(sources, "runtime/bench/main.cpp");
  return sources;
}

std::vector<std::string> own_sources() {
  return sources_under({"runtime/profile"});
}

}  // namespace

SourcesResult write_measuring_sources(const GemmCases& cases, const WorkDir& dir,
                                      Diagnostics& diagnostics) {
  const Unit unit = harness_unit(bench_sources());
  if (!write_resources(/*templates=*/true, dir, diagnostics) ||
      !dir.write("registry.cpp", registry_text(cases), diagnostics) ||
      !dir.write(unit.name, unit.text, diagnostics))
    return SourcesResult::not_written;
  for (const GemmVariant& variant : cases.variants)
    if (!dir.write(file_of(variant), kernel_text(variant), diagnostics))
      return SourcesResult::not_written;
  return SourcesResult::written;
}

BuildPlan plan_measuring_build(const GemmCases& cases, const CudaTools& tools,
                               const std::string& cublas_lt, int sm, const WorkDir& dir) {
  CudaBuild build(tools, dir);
  const std::vector<std::string> own = gpu_code(sm);
  for (const GemmVariant& variant : cases.variants)
    build.add(file_of(variant), gpu_code(variant.plan.arch, sm));
  build.add(harness_unit({}).name, own);
  for (const std::string& source : bench_sources())
    if (llvm::StringRef(source).ends_with(".cu")) build.add(source, own);
  for (const std::string& source : own_sources()) build.add(source, own);
  build.add_runtime(sm);
  build.add("registry.cpp", own);
  build.link_library(cublas_lt);
  BuildPlan plan = build.finish();
  // The kernels follow from the tool and the GPU alone, so they are kept too.
  plan.common.insert(plan.common.begin(), plan.compile.begin(), plan.compile.end());
  plan.compile.clear();
  return plan;
}

}  // namespace tilepost
