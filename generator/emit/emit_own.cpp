#include "generator/emit/emit_own.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/emit/cpu_includes.h"
#include "generator/emit/emit_cutlass.h"
#include "generator/emit/parts.h"
#include "generator/own/examine.h"
#include "generator/printable.h"
#include "generator/weave/marked/weave_marked.h"
#include "generator/weave/unmarked/weave_unmarked.h"

namespace tilepost {
namespace {

constexpr char kShape[] = "shape";

std::array<std::string, 3> block_of_tile(const OwnKernel& own) {
  switch (own.order) {
    case BlockOrder::columns_then_rows:
      return {"column", "row", "0"};
    case BlockOrder::rows_then_columns:
      return {"row", "column", "0"};
    case BlockOrder::columns_and_depth:
      return {"column", "0", "row"};
    case BlockOrder::rows_and_depth:
      return {"row", "0", "column"};
    case BlockOrder::linear_by_rows:
      return {"row * columns + column", "0", "0"};
    case BlockOrder::linear_by_columns:
      return {"column * rows + row", "0", "0"};
    case BlockOrder::table:
      break;
  }
  const int64_t x = own.grid[0], y = own.grid[1];
  const std::string block = "kBlocks[row * columns + column]";
  return {fmt::format("{} % {}", block, x), fmt::format("{} / {} % {}", block, x, y),
          fmt::format("{} / {}", block, x * y)};
}

std::string table(const OwnKernel& own) {
  if (own.order != BlockOrder::table) return "";
  constexpr size_t kPerLine = 16;
  std::string text =
      "// The block of the plain kernel that makes each tile, by row * columns + column.\n"
      "__device__ const int kBlocks[] = {";
  for (size_t i = 0; i < own.blocks.size(); ++i)
    text += fmt::format("{}{}", i % kPerLine == 0 ? "\n    " : " ", own.blocks[i]) + ",";
  return text + "\n};\n\n";
}

// The grid of the author's launch: x, y and z. A kernel with marks gets one block for each tile: it
// takes any number of blocks, or needs exactly this many.
std::array<std::string, 3> grid_of(const OwnKernel& own) {
  std::array<std::string, 3> grid = {"1", "1", "1"};
  const KernelSpec& spec = own.spec;
  if (own.marked) {
    grid[0] = fmt::format(
        "tilepost::ceil_div(tilepost::ceil_div({0}.m, {1}), {3}) * {3} * tilepost::ceil_div({0}.n, "
        "{2})",
        kShape, spec.tile.value[0], spec.tile.value[1], spec.cluster.value);
    return grid;
  }
  for (size_t i = 0; i < spec.grid.value.size(); ++i) grid[i] = spec.grid.value[i].in_cpp(kShape);
  return grid;
}

// The index of the user data of that name, among the addresses that a run hands over.
size_t index_of(const KernelSpec& kernel, const std::string& name) {
  const auto& list = kernel.user.value;
  return static_cast<size_t>(std::ranges::find(list, name, &UserData::name) - list.begin());
}

// Fills in what each parameter of the kernel is given.
void describe_arguments(const OwnKernel& own, UnmarkedRequest& request) {
  for (const KernelArgument& argument : own.spec.arguments.value) {
    switch (argument.kind) {
      case KernelArgument::Kind::a:
        request.memory[argument.parameter] = "a";
        break;
      case KernelArgument::Kind::b:
        request.memory[argument.parameter] = "b";
        break;
      case KernelArgument::Kind::out:
        request.out = argument.parameter;
        request.memory[argument.parameter] = "c";
        break;
      case KernelArgument::Kind::user:
        request.memory[argument.parameter] =
            fmt::format("data_.at[{}]", index_of(own.spec, argument.data));
        break;
      case KernelArgument::Kind::null:
        request.memory[argument.parameter] = "nullptr";
        break;
      case KernelArgument::Kind::whole:
        request.arguments[argument.parameter] = argument.whole.in_cpp(kShape);
        break;
      case KernelArgument::Kind::real:
        request.arguments[argument.parameter] = fmt::format("{}", argument.real);
        break;
    }
  }
}

// Describes in C++ what the plan says of the kernel. `one_arch`: whether the program has plans for
// one architecture only.
UnmarkedRequest describe(const Plan& plan, bool one_arch) {
  const OwnKernel& own = *plan.source.own;
  UnmarkedRequest request;
  request.cpu = plan.arch == Arch::host;
  request.source = own.source;
  request.reading = reading_of(own);
  request.one_arch = one_arch;
  request.count_at = own.count_at;
  request.loop = own.spec.loop.value;
  const RunPaths paths = paths_of(plan);
  request.stores = paths.overlapping.stores_by_owner;
  request.waits = paths.planned.waits == Waits::tiles;
  request.clears_output = own.reads_output;
  request.threads = own.threads;
  request.shared_bytes = own.shared_bytes;
  request.blocks_per_sm = static_cast<int32_t>(own.spec.blocks_per_sm.value);
  request.kernel = own.name;
  request.launcher = own.spec.launcher.value;
  request.shape = fmt::format("{}, {}, {}, {}, {}, {}", plan.map.m, plan.map.n, plan.k, plan.k,
                              plan.operands == TILEPOST_NN ? plan.map.n : plan.k, plan.map.n);
  request.helpers = own.marked ? "" : table(own);
  if (!own.marked) request.block = block_of_tile(own);
  request.grid = grid_of(own);
  request.num_user = static_cast<int32_t>(own.spec.user.value.size());
  describe_arguments(own, request);
  return request;
}

}  // namespace

std::optional<WovenKernel> weave_own(const Plan& plan, bool one_arch, Diagnostics& diagnostics) {
  if (plan.source.own->spec.cutlass.value) return include_cutlass(plan);
  const UnmarkedRequest request = describe(plan, one_arch);
  std::optional<WovenKernel> kernel = plan.source.own->marked
                                          ? weave_marked(request, diagnostics)
                                          : weave_unmarked(request, diagnostics);
  if (kernel && request.cpu) leave_out_cudas_headers(*plan.source.own, *kernel);
  return kernel;
}

std::string plain_function(std::string_view name) {
  return "tilepost_plain_" + std::string(name);
}

namespace {

// The function that returns the plain launch. With it come functions that compute, from the shape,
// the bytes of data in a form of the kernel's own.
std::string emit_plain_launch(const KernelSpec& kernel, const std::string& space,
                              const std::string& function) {
  const auto bytes = [](const Expression& expression) {
    return fmt::format("[](const tilepost_shape_t& shape) -> int64_t {{ return {}; }}",
                       expression.in_cpp(kShape));
  };
  std::string text, b = "{}", list = "nullptr";
  if (kernel.b_bytes.given()) b = fmt::format("{{\"b\", {}}}", bytes(kernel.b_bytes.value));
  for (const UserData& data : kernel.user.value)
    text += fmt::format("      {{\"user.{}\", {}}},\n", data.name, bytes(data.bytes));
  if (!text.empty()) {
    text = "  static const tilepost::harness::OpaqueData kUser[] = {\n" + text + "  };\n";
    list = "kUser";
  }
  return fmt::format(
      "tilepost::harness::PlainLaunch {}() {{\n{}  return {{{}, {}::launch,\n          {},\n"
      "          {}, {}}};\n}}\n",
      function, text, c_literal(kernel.function.value), space, b, list, kernel.user.value.size());
}

}  // namespace

std::string emit_plain(const std::vector<Plan>& plans, Diagnostics& diagnostics) {
  const Plan& plan = plans.front();
  const OwnKernel& own = *plan.source.own;
  const bool cutlass = own.spec.cutlass.value;
  const std::string space = namespace_of(plan.name) + "::plain";
  std::optional<WovenKernel> kernel =
      cutlass ? include_plain_cutlass(plan)
              : cut_plain_kernel(describe(plan, plans.size() == 1), diagnostics);
  if (!kernel) return "";
  if (plan.arch == Arch::host) leave_out_cudas_headers(own, *kernel);
  std::string text = fmt::format("// {} as its author wrote it and launches it.\n",
                                 printable(own.spec.function.value));
  if (cutlass) text += cutlass_preamble();
  for (const std::string& line : kernel->first) text += line + "\n";
  text += "#include <cuda_runtime.h>\n";
  for (const std::string& include : kernel->includes) text += "#include " + include + "\n";
  return text + "#include <tilepost/plan.h>\n#include <tilepost/internal/whole_numbers.h>\n\n" +
         fmt::format(
             "#include \"runtime/harness/plain_launch.h\"\n\nnamespace {0} {{\n\n{1}\n}}  // "
             "namespace {0}\n\n",
             space, kernel->body) +
         emit_plain_launch(own.spec, space, plain_function(plan.name));
}

}  // namespace tilepost
