#include "generator/emit/emit_cutlass.h"

#include <fmt/format.h>

#include "generator/emit/parts.h"
#include "generator/weave/marked/weave_marked.h"

namespace tilepost {
namespace {

// The name with "::" in front, so that it is not looked up in the generated namespace first.
std::string global(const std::string& name) {
  return name.starts_with("::") ? name : "::" + name;
}

std::string launcher_of(const KernelSpec& kernel) {
  return kernel.launcher.given() ? global(kernel.launcher.value) : "Kernel::launch";
}

WovenKernel with_includes(const Plan& plan) {
  WovenKernel kernel;
  kernel.includes = {'"' + plan.source.own->spec.file.value + '"', "<tilepost/cutlass.hpp>"};
  return kernel;
}

std::string kernel_type(const Plan& plan) {
  return fmt::format(
      "// As the spec describes it; another one is not compiled.\n"
      "using Kernel = tilepost::cutlass::Kernel<{}, {}, {}, {}, {}, {},\n"
      "                                         {}>;\n",
      global(plan.source.own->spec.function.value), plan.map.tile_m, plan.map.tile_n,
      plan.map.cluster, c_name(plan.input), c_name(plan.output),
      plan.operands == TILEPOST_NN ? "TILEPOST_NN" : "TILEPOST_TN");
}

}  // namespace

std::string cutlass_preamble() {
  return "#ifndef NDEBUG  // CUTLASS's assertions would keep wgmma from overlapping\n"
         "#define NDEBUG\n#endif\n";
}

WovenKernel include_cutlass(const Plan& plan) {
  WovenKernel kernel = with_includes(plan);
  kernel.body = "namespace user {\n\n" + kernel_type(plan) +
                fmt::format(
                    "\ninline const void* {}() {{\n  return Kernel::function();\n}}\n\n"
                    "inline int {}(const tilepost_launch_call_t* call, void* user) {{\n"
                    "  return static_cast<int>({}(call, user));\n}}\n\n}}  // namespace user\n",
                    kWovenFunction, kWovenLauncher, launcher_of(plan.source.own->spec));
  return kernel;
}

WovenKernel include_plain_cutlass(const Plan& plan) {
  WovenKernel kernel = with_includes(plan);
  kernel.body =
      kernel_type(plan) +
      fmt::format(
          "\nint launch(const void* a, const void* b, void* c, const tilepost_shape_t& shape,\n"
          "           void* const*, void* stream) {{\n"
          "  return static_cast<int>(Kernel::launch_plain(\n"
          "      a, b, c, shape, static_cast<cudaStream_t>(stream), {}));\n}}\n",
          launcher_of(plan.source.own->spec));
  return kernel;
}

}  // namespace tilepost
