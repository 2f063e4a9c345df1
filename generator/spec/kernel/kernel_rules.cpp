#include <fmt/format.h>

#include <algorithm>

#include "generator/spec/identifier.h"
#include "generator/spec/kernel/kernel_flags.h"
#include "generator/spec/names.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

// The bounds of a block and of a grid along x, y and z: CUDA C++ Programming Guide, Compute
// Capabilities.
constexpr int64_t kMostThreads[] = {1024, 1024, 64};
constexpr int64_t kMostThreadsOfBlock = 1024;
constexpr int64_t kMostBlocks[] = {2147483647, 65535, 65535};

class KernelRules {
 public:
  KernelRules(const Spec& spec, Diagnostics& diagnostics)
      : spec_(spec), kernel_(*spec.kernel), diagnostics_(diagnostics) {}

  void check() {
    check_pattern();
    check_company();
    check_types();
    check_adapter();
    check_arguments();
    check_user_data();
    check_defines();
    check_flags();
    if (spec_.gemm.m.value <= 0 || spec_.gemm.n.value <= 0 || spec_.gemm.k.value <= 0) return;
    check_multiples();
    check_threads();
    check_extents("grid", kernel_.grid, kMostBlocks);
    check_cluster();
    check_shared_bytes();
    check_user_bytes();
  }

 private:
  void refuse(Place where, const std::string& message) {
    diagnostics_.error(where, message);
    diagnostics_.note(kernel_.where, "the kernel is given here");
  }

  // A user's kernel stores a tile in one piece, and weaving moves that piece by whole rows only.
  // Refuses patterns and layouts that need more.
  void check_pattern() {
    if (!spec_.pattern.given()) return;
    const PatternRow& row = row_of(spec_.pattern.value);
    if (row.moves_input() && row.routes())
      refuse(spec_.pattern.where,
             fmt::format("pattern {} is not possible with a kernel of your own; use "
                         "'all_gather_gemm', or the bundled kernel",
                         quote(row.name)));
    if (row.moves_input() && spec_.neighbours.value)
      refuse(spec_.neighbours.where,
             fmt::format("neighbours is not possible with pattern {} and a kernel of your own, "
                         "which waits for rows of A in its launch; remove it, or use the bundled "
                         "kernel",
                         quote(row.name)));
    if (row.routes() && spec_.routing.value == TILEPOST_ROUTING_ROWS)
      refuse(spec_.routing.where,
             "routing 'rows' is not possible with a kernel of your own: a tile it stores stays in "
             "one piece; use 'even' or 'splits', or the bundled kernel");
    if (spec_.schedule.layout.value == TILEPOST_TILE)
      refuse(spec_.schedule.layout.where,
             "schedule.layout 'tile' is not possible with a kernel of your own, whose rows keep "
             "their length; use 'panel' or 'auto'");
    check_stores();
  }

  // A user's kernel can store into other ranks' memory with TMA only, by tensor maps that are made
  // for its stores.
  void check_stores() {
    const std::optional<tilepost_transport_t> wish = spec_.transport.value;
    const bool gathers = row_of(spec_.pattern.value).moves_input();
    const bool peer = wish == TILEPOST_TRANSPORT_PEER && (gathers || !kernel_.store_box.given());
    if (peer || wish == TILEPOST_TRANSPORT_PEER_TILES)
      refuse(
          spec_.transport.where,
          fmt::format("transport {} is not possible with a kernel of your own{}; use 'auto', "
                      "'nccl', 'nccl_symmetric', 'host_copies', 'copy_engine' or 'none'",
                      quote(name_of(*wish)),
                      gathers ? " and this pattern, whose rows of A warps of the kernel would send"
                      : peer  ? ", unless it stores with TMA, takes its maps from "
                                "tilepost::out_map, and kernel.store_box says what a store moves"
                              : ""));
    if (spec_.schedule.sum.value == TILEPOST_SUM_ADDED)
      refuse(spec_.schedule.sum.where,
             "schedule.sum 'added' is for the bundled kernels; yours stores its tiles; remove it");
  }

  void check_company() {
    const auto own = [&](const auto& given, const char* path) {
      if (given)
        refuse(given->where, fmt::format("{} is for the bundled kernels; kernel.tile says that of "
                                         "your own; remove it",
                                         path));
    };
    own(spec_.schedule.tile, "schedule.tile");
    own(spec_.schedule.stages, "schedule.stages");
    own(spec_.schedule.cluster, "schedule.cluster");
    if (!spec_.gemm.epilogue.empty())
      refuse(spec_.gemm.epilogue.front().where,
             "gemm.epilogue is for the bundled kernels; what your own does to its sums is in it; "
             "remove gemm.epilogue");
    for (const Arch arch : spec_.archs.value)
      if (arch == Arch::host)
        refuse(spec_.archs.where,
               "arch 'host' is not possible with a kernel of your own, which is "
               "CUDA; use a GPU architecture");
  }

  void check_types() {
    if (spec_.gemm.accumulate.value == TILEPOST_FAST)
      refuse(spec_.gemm.accumulate.where,
             "gemm.accumulate is for the bundled kernels; your own sums as it does; remove it");
    const bool norms = spec_.consumer.value == TILEPOST_CONSUMER_RMS_NORM ||
                       spec_.consumer.value == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
    const DtypeRow& out = row_of(spec_.gemm.out.value);
    if (out.is_wide() && norms)
      refuse(spec_.consumer.where,
             fmt::format("consumer {} normalises rows of {}, and gemm.out is {}; use a 16-bit "
                         "output, or normalise in a kernel of your own behind the run",
                         quote(name_of(spec_.consumer.value)),
                         dtypes_with<&DtypeRow::is_half>("and"), quote(out.name)));
  }

  // For a CUTLASS kernel, refuses fields whose value its type determines, and fields that are for
  // kernels whose source is read.
  void check_adapter() {
    if (!kernel_.cutlass.value) {
      if (!kernel_.threads.given())
        refuse(kernel_.where, "kernel.threads is missing; say how many threads a block has");
      return;
    }
    const auto needless = [&](const auto& given, const char* path, const char* instead) {
      if (given.given())
        refuse(given.where,
               fmt::format("kernel.{} is not for kernel.adapter 'cutlass': {}; remove it", path,
                           instead));
    };
    needless(kernel_.threads, "threads", "the kernel's type says it");
    needless(kernel_.shared_bytes, "shared_bytes", "the kernel's type says it");
    needless(kernel_.blocks_per_sm, "blocks_per_sm", "an SM holds one block of such kernels");
    needless(kernel_.grid, "grid", "the kernel has as many blocks as the plan says");
    needless(kernel_.arguments, "arguments",
             "a kernel.launcher gives the kernel its arguments, if they are more than A, B and D");
    needless(kernel_.loop, "loop", "its blocks take tiles in turn");
    needless(kernel_.signals, "signals", "its epilogue counts a tile once");
    needless(kernel_.store_box, "store_box", "it does not store into other ranks' memory");
    needless(kernel_.defines, "defines", "#define them in kernel.file");
    for (const Arch arch : spec_.archs.value)
      if (arch != Arch::sm_90a && arch != Arch::host)
        refuse(spec_.archs.where, fmt::format("kernel.adapter 'cutlass' is for kernels of Hopper, "
                                              "and {} is another architecture; use arch: sm_90a",
                                              name_of(arch)));
  }

  void check_arguments() {
    const KernelArgument* out = nullptr;
    for (const KernelArgument& argument : kernel_.arguments.value) {
      if (argument.kind != KernelArgument::Kind::out) continue;
      if (out != nullptr)
        refuse(argument.where,
               fmt::format(
                   "kernel.arguments gives out to {} and to {}; one "
                   "parameter is the output, and a matrix that is added to it may be user.NAME",
                   quote(out->parameter), quote(argument.parameter)));
      out = &argument;
    }
    if (kernel_.cutlass.value) return;
    if (!kernel_.arguments.given() && !kernel_.launcher.given())
      refuse(kernel_.where,
             "kernel.arguments is missing; say what each parameter of the kernel is given, or name "
             "a kernel.launcher that does");
    check_launcher();
    if (out == nullptr && kernel_.arguments.given())
      refuse(kernel_.arguments.where,
             "kernel.arguments gives out to no parameter; say which is "
             "the output, 'C: out' say");
    if (!kernel_.launcher.given() && diagnostics_.ok()) check_inputs();
  }

  // Warns if the arguments give the kernel only one of a and b, which is probably a mistake.
  void check_inputs() {
    using Kind = KernelArgument::Kind;
    for (const auto& [kind, name] : {std::pair(Kind::a, 'a'), std::pair(Kind::b, 'b')})
      if (kernel_.arguments.given() &&
          !std::ranges::count(kernel_.arguments.value, kind, &KernelArgument::kind))
        diagnostics_.warning(kernel_.arguments.where,
                             fmt::format("kernel.arguments gives {} to no parameter, and the "
                                         "product is of a and b; say which reads it",
                                         name));
  }

  // A launcher chooses the kernel's arguments by itself. With a launcher, kernel.arguments says
  // only what the proof of a kernel without marks needs: which parameter is the output, and
  // numbers.
  void check_launcher() {
    if (!kernel_.launcher.given()) return;
    using Kind = KernelArgument::Kind;
    for (const KernelArgument& argument : kernel_.arguments.value)
      if (argument.kind == Kind::a || argument.kind == Kind::b)
        refuse(argument.where,
               fmt::format("kernel.launcher gives the kernel its inputs by itself, {} too; remove "
                           "it from kernel.arguments, which have the output and numbers then",
                           quote(argument.parameter)));
    if (kernel_.arguments.given() && spec_.gemm.any_m)
      refuse(spec_.gemm.m.where,
             "a kernel without marks that a kernel.launcher launches is woven for one m, and with "
             "'{max: …}' every run has its own; give one m");
  }

  // Checks that all user data that parameters are given exist, and that each is given to some
  // parameter.
  void check_user_data() {
    const std::vector<UserData>& list = kernel_.user.value;
    std::vector<std::string_view> names;
    for (const UserData& data : list) names.push_back(data.name);
    std::vector<bool> given(list.size());
    for (const KernelArgument& argument : kernel_.arguments.value) {
      if (argument.kind != KernelArgument::Kind::user) continue;
      const auto at = std::ranges::find(names, std::string_view(argument.data));
      if (at == names.end())
        refuse(argument.where,
               fmt::format("kernel.arguments gives user.{} to {}, and kernel.user has none of that "
                           "name{}; say there how many bytes it has",
                           argument.data, quote(argument.parameter),
                           did_you_mean(argument.data, names)));
      else
        given[static_cast<size_t>(at - names.begin())] = true;
    }
    if (kernel_.launcher.given() && !list.empty())
      return refuse(kernel_.user.where,
                    "kernel.user is for kernel.arguments; a launcher is handed what the run's user "
                    "is and reads it by itself; remove kernel.user");
    for (size_t i = 0; i < list.size() && kernel_.arguments.given(); ++i)
      if (!given[i])
        refuse(list[i].where, fmt::format("kernel.arguments gives user.{0} to no parameter; give "
                                          "it to one, or remove it from kernel.user",
                                          list[i].name));
  }

  // With gemm.b 'user' or kernel.user only the original kernel can compute the product to compare
  // with, and it is given the rows of one rank.
  void check_own_rows() {
    if (spec_.pattern.given() && row_of(spec_.pattern.value).moves_input())
      refuse(spec_.pattern.where,
             fmt::format("pattern {} is not possible with gemm.b 'user' or kernel.user: rows of A "
                         "of other ranks would have to be given to the original kernel for its "
                         "product; use a pattern whose ranks multiply their own rows",
                         quote(row_of(spec_.pattern.value).name)));
  }

  void check_user_bytes() {
    constexpr int64_t kMost = int64_t{1} << 40;
    const bool opaque = spec_.gemm.b_is_user;
    if (opaque && !kernel_.b_bytes.given())
      refuse(spec_.gemm.b.where,
             "gemm.b is 'user', and kernel.b_bytes is missing; say how many bytes B has");
    if (!opaque && kernel_.b_bytes.given())
      refuse(kernel_.b_bytes.where,
             "kernel.b_bytes is for gemm.b: user; another B has n * k elements of its type; remove "
             "it, or say gemm.b: user");
    if (opaque || !kernel_.user.value.empty()) check_own_rows();
    if (kernel_.b_bytes.given())
      number("b_bytes", kernel_.b_bytes.where, kernel_.b_bytes.value, 1, kMost);
    for (const UserData& data : kernel_.user.value)
      number(("user." + data.name).c_str(), data.where, data.bytes, 1, kMost);
  }

  void check_defines() {
    for (const Located<std::string>& define : kernel_.defines.value) {
      const std::string name = define.value.substr(0, define.value.find('='));
      const bool one_line = define.value.find_first_of("\n\r\\") == std::string::npos;
      if (!is_c_name(name) || !one_line)
        refuse(define.where, fmt::format("kernel.defines has NAME or NAME=value on one line; {} is "
                                         "neither",
                                         quote(define.value)));
    }
  }

  void check_flags() {
    for (const Located<std::string>& flag : kernel_.flags.value)
      if (const std::string why = obstacle_of_flag(flag.value); !why.empty())
        refuse(flag.where, why);
  }

  void check_multiples() {
    const Located<int64_t>* sizes[] = {&spec_.gemm.m, &spec_.gemm.n, &spec_.gemm.k};
    constexpr const char* kNames[] = {"m", "n", "k"};
    for (int i = 0; i < 3; ++i) {
      const int64_t multiple = kernel_.requires_.value[static_cast<size_t>(i)];
      const int64_t equal = kernel_.equals[static_cast<size_t>(i)];
      if (equal > 0) {
        check_equal(i == 0, kNames[i], *sizes[i], equal);
        continue;
      }
      if (i == 0 && spec_.gemm.any_m && multiple > 1)
        refuse(spec_.gemm.m.where,
               fmt::format("kernel.requires says that m is a multiple of {}, and with "
                           "'{{max: …}}' every run has its own; give one m, or let the kernel "
                           "check its rows and remove m from kernel.requires",
                           multiple));
      else if (sizes[i]->value % multiple != 0)
        refuse(sizes[i]->where,
               fmt::format("gemm.{} must be a multiple of {}, as kernel.requires says; got '{}'",
                           kNames[i], multiple, sizes[i]->value));
    }
  }

  void check_equal(bool rows, const char* name, const Located<int64_t>& size, int64_t equal) {
    if (rows && spec_.gemm.any_m)
      refuse(size.where, fmt::format("kernel.requires says that m is {}, and with '{{max: …}}' "
                                     "every run has its own; give one m",
                                     equal));
    else if (size.value != equal)
      refuse(size.where, fmt::format("gemm.{} must be {}, as kernel.requires says; got '{}'", name,
                                     equal, size.value));
  }

  // The expression's value at the spec's shape, where m is the bound if runs have any m. Refuses a
  // value outside of `min` to `max`, and then returns nothing.
  std::optional<int64_t> number(const char* path, Place where, const Expression& expression,
                                int64_t min, int64_t max) {
    std::string why;
    const ShapeNumbers shape = {spec_.gemm.m.value, spec_.gemm.n.value, spec_.gemm.k.value};
    const std::optional<int64_t> value = expression.at(shape, why);
    if (!value) {
      refuse(where,
             fmt::format("kernel.{}, {}, is no number: {}", path, quote(expression.text()), why));
      return std::nullopt;
    }
    if (*value >= min && *value <= max) return value;
    refuse(where,
           fmt::format("kernel.{} must be from {} to {}; {} is {} at m={}, n={}, k={}", path, min,
                       max, quote(expression.text()), *value, shape.m, shape.n, shape.k));
    return std::nullopt;
  }

  // Checks x, y and z as far as they are given. Returns their product, or 0 if one was refused.
  int64_t check_extents(const char* path, const Located<std::vector<Expression>>& given,
                        const int64_t (&most)[3]) {
    int64_t product = 1;
    for (size_t i = 0; i < given.value.size(); ++i) {
      const std::optional<int64_t> extent = number(path, given.where, given.value[i], 1, most[i]);
      product = extent ? product * *extent : 0;
    }
    return product;
  }

  void same_for_all_m(const char* path, Place where, const Expression& expression) {
    if (!spec_.gemm.any_m || !expression.has_m()) return;
    refuse(where, fmt::format("kernel.{} must be the same for every m of '{{max: …}}'; got {}",
                              path, quote(expression.text())));
  }

  void check_threads() {
    const auto& threads = kernel_.threads;
    for (const Expression& each : threads.value) same_for_all_m("threads", threads.where, each);
    const int64_t product = check_extents("threads", threads, kMostThreads);
    if (product > kMostThreadsOfBlock)
      refuse(threads.where, fmt::format("a block has at most {} threads; kernel.threads says {}",
                                        kMostThreadsOfBlock, product));
  }

  void check_cluster() {
    const int64_t cluster = kernel_.cluster.value;
    if ((cluster & (cluster - 1)) != 0)
      refuse(kernel_.cluster.where,
             fmt::format("kernel.cluster is 1, 2, 4 or 8; got '{}'", cluster));
    for (const Arch arch : spec_.archs.value)
      if (cluster > 1 && arch != Arch::sm_90a)
        refuse(kernel_.cluster.where, fmt::format("kernel.cluster is {}, and {} has no clusters; "
                                                  "remove it or use arch: sm_90a",
                                                  cluster, name_of(arch)));
  }

  void check_shared_bytes() {
    const auto& bytes = kernel_.shared_bytes;
    same_for_all_m("shared_bytes", bytes.where, bytes.value);
    constexpr int64_t kMost = 232448;  // 227 KiB, sm_90a's; the planner checks the architecture's
    number("shared_bytes", bytes.where, bytes.value, 0, kMost);
  }

  const Spec& spec_;
  const KernelSpec& kernel_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_kernel(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.kernel) KernelRules(spec, diagnostics).check();
}

}  // namespace tilepost
