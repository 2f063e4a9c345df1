#include "generator/own/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "clang/AST/DeclCXX.h"
#include "generator/clang/clang_errors.h"
#include "generator/clang/instantiate.h"
#include "generator/clang/report.h"
#include "generator/clang/toolkit.h"
#include "generator/infer/infer.h"
#include "generator/own/check_arguments.h"
#include "generator/own/instructions.h"
#include "generator/own/launch_limits.h"
#include "generator/own/placed_diagnostics.h"
#include "generator/own/shared_memory.h"
#include "generator/own/source/read_source.h"
#include "generator/silent_diagnostics.h"
#include "generator/spec/kernel/kernel_flags.h"
#include "generator/spec/text.h"
#include "generator/weave/marked/check_marks.h"
#include "generator/weave/marked/find_marks.h"
#include "generator/weave/passes.h"
#include "generator/weave/unmarked/read_with.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// The most blocks in a table of generated code, which then has 256 KiB.
constexpr size_t kMostInTable = 65536;

// The greatest bound of m: a kernel is proven at every m up to the bound.
constexpr int64_t kMostRows = 262144;

constexpr std::string_view kWoven = "woven_";

// "woven_my_gemm" of "lib::my_gemm<128>".
std::string woven_name(StringRef function) {
  function = function.take_until([](char c) { return c == '<'; }).rtrim();
  return std::string(kWoven) +
         function.substr(function.rfind(':') + 1).ltrim().str();  // npos + 1 is 0
}

// Reads a kernel of the user's own and fills in OwnKernel.
class Examiner {
 public:
  Examiner(const Spec& spec, OwnKernel& own, Diagnostics& diagnostics)
      : spec_(spec),
        own_(own),
        diagnostics_(diagnostics),
        placed_(diagnostics, own.spec.function.where) {}

  bool examine() {
    choose_headers();
    bool proven = false;
    const bool read = read_kernel(placed_, [&](Parsed& parsed, const Instance& instance) {
      const std::set<Mark> marks = find_marks(parsed, instance);
      own_.marked = !marks.empty();
      own_.persistent = marks.contains(Mark::num_tiles);
      check_stores(marks);
      check_loads(marks);
      proven = diagnostics_.ok() && check_headers(parsed) && check_fields() &&
               check_launch(parsed, instance) &&
               check_launch_limits(parsed, instance, own_, diagnostics_) &&
               check_instructions(parsed, instance, spec_.archs.value) &&
               (own_.marked ? check_marked(parsed, instance)
                            : prove(parsed, instance) && check_library());
      if (proven) check_shared_memory(parsed, instance, own_);
    });
    return read && proven;
  }

  // Fills in `facts` with what the spec says of the kernel at a shape. Returns false if an
  // expression has no value there. The spec's rules have made sure that each has one at the spec's
  // own shape.
  bool facts_at(const ShapeNumbers& shape, KernelFacts& facts) const {
    std::string why;
    bool all = true;
    const auto number = [&](const Expression& expression) {
      const std::optional<int64_t> value = expression.at(shape, why);
      all = all && value;
      return value.value_or(0);
    };
    facts.m = shape.m;
    facts.n = shape.n;
    facts.k = shape.k;
    std::ranges::copy(own_.spec.tile.value, facts.tile.begin());
    std::ranges::transform(own_.spec.threads.value, facts.threads.begin(), number);
    std::ranges::transform(own_.spec.grid.value, facts.grid.begin(), number);
    for (const KernelArgument& argument : own_.spec.arguments.value) {
      if (argument.kind == KernelArgument::Kind::whole)
        facts.numbers[argument.parameter] = number(argument.whole);
      if (argument.kind == KernelArgument::Kind::null) facts.nulls.insert(argument.parameter);
      if (argument.kind == KernelArgument::Kind::out) facts.out = argument.parameter;
    }
    facts.out_ld = shape.n;
    facts.libraries = own_.folders;
    facts.out_bytes = static_cast<int>(element_bytes(spec_.gemm.out.value));
    return all;
  }

 private:
  // Chooses the headers that the kernel is read with. Stand-ins suffice for most kernels, and the
  // result then depends on no installation. Other kernels are read with the headers of a CUDA
  // Toolkit, if there is one.
  void choose_headers() {
    SilentDiagnostics silent;
    std::string looked;
    bool suffice = false;
    if (own_.folders.empty())
      read_kernel(silent, [&](Parsed& parsed, const Instance& instance) {
        Pieces pieces = cut_into_pieces(parsed);
        mark_reachable(parsed, {instance.written}, pieces);
        suffice = !asks_for_version(parsed, pieces);
      });
    if (!suffice) own_.toolkit = find_toolkit(looked).value_or("");
  }

  bool read_kernel(Diagnostics& diagnostics,
                   llvm::function_ref<void(Parsed&, const Instance&)> use) const {
    return read_function(own_.source, reading_of(own_), diagnostics, use);
  }

  // Reports headers in quotes that were not found. Headers of CUDA are among those that were found,
  // and those of the user's own were put in place.
  bool check_headers(const Parsed& parsed) const {
    for (const Inclusion& inclusion : parsed.missing)
      if (inclusion.spelled.starts_with('"'))
        parsed.error_at({inclusion.at, inclusion.at + 1},
                        missing_header(StringRef(inclusion.spelled).trim('"')));
    return parsed.report.ok();
  }

  // With kernel.store_box a kernel may store into other ranks' memory. It must then store only by
  // tensor maps that it takes from the mark out_map.
  void check_stores(const std::set<Mark>& marks) {
    const Located<std::vector<int64_t>>& box = own_.spec.store_box;
    if (!box.given()) return;
    const std::string name = quote(own_.spec.function.value);
    for (const Mark needed : {Mark::out_coord, Mark::out_map, Mark::open_out_maps})
      if (!marks.contains(needed))
        diagnostics_.error(
            box.where, fmt::format("kernel.store_box is for kernels that store with TMA by maps "
                                   "of tilepost::out_map, and {} reaches no tilepost::{}",
                                   name, name_of(needed)));
    if (marks.contains(Mark::out) || marks.contains(Mark::out_base))
      diagnostics_.error(box.where,
                         fmt::format("kernel.store_box is for kernels that store with TMA alone, "
                                     "and {} has ordinary stores too, which cannot go to other "
                                     "ranks' memory; remove it",
                                     name));
  }

  // If rows of A arrive while the kernel runs, checks that the kernel waits for them, and that its
  // waiting blocks leave SMs to the communication that they wait for.
  void check_loads(const std::set<Mark>& marks) {
    const PatternRow& pattern = row_of(spec_.pattern.value);
    if (!pattern.moves_input()) return;
    const std::string name = quote(own_.spec.function.value);
    const auto refuse = [&](const char* why) {
      diagnostics_.error(spec_.pattern.where, fmt::format("pattern {} needs a kernel that waits "
                                                          "for rows of A: {} {}",
                                                          quote(pattern.name), name, why));
    };
    if (!marks.contains(Mark::input_ready))
      refuse("reaches no tilepost::input_ready; call it in front of a tile's first load of A");
    else if (!own_.persistent)
      refuse(
          "computes one tile in each block, and blocks that wait leave no SM to what they wait "
          "for; let its blocks take tiles in turn, up to tilepost::num_tiles(grid)");
    else if (own_.spec.blocks_per_sm.value != 1)
      refuse(
          "has several blocks on an SM, which leave none to what they wait for; say "
          "kernel.blocks_per_sm: 1");
  }

  // Refuses fields that do not apply: some are only for kernels with marks, some only for kernels
  // without.
  bool check_fields() {
    const int errors = diagnostics_.errors();
    const KernelSpec& kernel = own_.spec;
    const std::string name = quote(kernel.function.value);
    const auto refuse = [&](bool given, Place where, const std::string& message) {
      if (given) diagnostics_.error(where, message);
    };
    if (own_.marked) {
      refuse(kernel.loop.value, kernel.loop.where,
             fmt::format("kernel.loop is for kernels without marks; {} has some, which say how its "
                         "blocks take tiles; remove it",
                         name));
      refuse(kernel.grid.given(), kernel.grid.where,
             fmt::format("kernel.grid is for kernels without marks; {} has some, and is launched "
                         "with as many blocks as the plan has for it; remove it",
                         name));
      refuse(!own_.persistent && kernel.cluster.value > 1, kernel.cluster.where,
             fmt::format("kernel.cluster is for kernels whose blocks compute several tiles, up to "
                         "tilepost::num_tiles(grid), which {} does not ask for; remove it",
                         name));
      refuse(kernel.arguments.given() && kernel.launcher.given(), kernel.launcher.where,
             fmt::format("kernel.launcher gives {} its arguments by itself, for it has marks; "
                         "remove it or kernel.arguments",
                         name));
      return diagnostics_.errors() == errors;
    }
    const auto marked_only = [&](bool given, Place where, const char* path) {
      refuse(given, where,
             fmt::format("kernel.{} is for kernels with marks, and {} reaches none; remove it, or "
                         "say in the kernel where its tiles are chosen, stored and done",
                         path, name));
    };
    refuse(!kernel.arguments.given(), kernel.launcher.where,
           fmt::format("kernel.arguments is missing: {} has no marks, and is proven with what its "
                       "output and its whole numbers are given; name these parameters, and leave "
                       "the others to kernel.launcher",
                       name));
    marked_only(kernel.signals.given(), kernel.signals.where, "signals");
    marked_only(kernel.cluster.given(), kernel.cluster.where, "cluster");
    refuse(!kernel.grid.given(), kernel.where,
           fmt::format("kernel.grid is missing: {} has no marks, and its blocks are known by how "
                       "you launch it",
                       name));
    return diagnostics_.errors() == errors;
  }

  // Checks what gives the kernel its arguments: kernel.arguments, and the launcher if there is one.
  bool check_launch(const Parsed& parsed, const Instance& instance) {
    const Located<std::string>& launcher = own_.spec.launcher;
    if (launcher.given()) placed_.asked_at(launcher.where);
    const bool good = check_arguments(parsed, instance, spec_, own_, diagnostics_) &&
                      (!launcher.given() || find_launcher(parsed, launcher.value));
    placed_.asked_at(own_.spec.function.where);
    return good;
  }

  bool check_marked(const Parsed& parsed, const Instance& instance) const {
    const GemmSpec& gemm = spec_.gemm;
    KernelFacts shape;
    if (!facts_at({gemm.m.value, gemm.n.value, gemm.k.value}, shape)) return false;
    MarkFacts facts;
    facts.out = shape.out;
    facts.numbers = {shape.numbers.begin(), shape.numbers.end()};
    facts.n = gemm.n.value;
    facts.tile_m = own_.spec.tile.value[0];
    facts.tile_n = own_.spec.tile.value[1];
    facts.cluster = own_.spec.cluster.value;
    facts.signals = own_.spec.signals.value;
    check_marks(parsed, instance, facts);
    return parsed.report.ok();
  }

  // Refuses a library whose headers stay inclusions: generated code may be compiled with other
  // versions of them than the proof has read.
  bool check_library() {
    const Located<std::vector<Located<std::string>>>& folders = own_.spec.system_include_dirs;
    if (!folders.given()) return true;
    diagnostics_.error(folders.where,
                       fmt::format("kernel.system_include_dirs is for kernels with marks, and {} "
                                   "reaches none: what its blocks store is proven with headers "
                                   "that become part of the generated file; say "
                                   "kernel.include_dirs",
                                   quote(own_.spec.function.value)));
    return false;
  }

  // A shape with partial tiles, if the kernel takes any, and with m != n. In a square a transposed
  // output would not show, and in whole tiles a missing guard would not. A size of which the kernel
  // takes a single value has that value.
  ShapeNumbers ragged() const {
    const std::array<int64_t, 3>& multiples = own_.spec.requires_.value;
    const std::array<int64_t, 3>& equals = own_.spec.equals;
    const auto size = [&](int64_t whole, size_t i) {
      return equals[i] > 0 ? equals[i] : (whole / multiples[i] + 1) * multiples[i];
    };
    const int64_t rows = own_.spec.tile.value[0], columns = own_.spec.tile.value[1];
    ShapeNumbers shape = {size(3 * rows, 0), size(2 * columns, 1), spec_.gemm.k.value};
    if (shape.m == shape.n && equals[0] == 0) shape.m += multiples[0];
    if (shape.m == shape.n && equals[1] == 0) shape.n += multiples[1];
    return shape;
  }

  bool has_blocks(const ShapeNumbers& shape, KernelFacts& facts) {
    const bool numbers = facts_at(shape, facts);
    if (numbers && std::ranges::all_of(facts.grid, [](int64_t x) { return x > 0; })) return true;
    diagnostics_.error(own_.spec.grid.where,
                       fmt::format("kernel.grid has no blocks at m={}, n={}, where the kernel is "
                                   "tried too; round up with ceil_div, or say in kernel.requires "
                                   "what m and n are multiples of",
                                   shape.m, shape.n));
    return false;
  }

  // Where m is bounded, checks that the launch has blocks at every m.
  bool has_blocks_at_all_m() {
    const GemmSpec& gemm = spec_.gemm;
    if (gemm.m.value > kMostRows)
      diagnostics_.error(gemm.m.where,
                         fmt::format("m is bounded by {}, and a kernel without marks is proven for "
                                     "every m up to {} at most; give a smaller bound, or one m",
                                     gemm.m.value, kMostRows));
    for (int64_t m = 1; m <= gemm.m.value && diagnostics_.ok(); ++m) {
      KernelFacts facts;
      has_blocks({m, gemm.n.value, gemm.k.value}, facts);
    }
    return diagnostics_.ok();
  }

  bool prove(const Parsed& parsed, const Instance& instance) {
    const GemmSpec& gemm = spec_.gemm;
    std::vector<ShapeNumbers> tried = {{gemm.m.value, gemm.n.value, gemm.k.value}};
    if (const ShapeNumbers other = ragged(); other.m != gemm.m.value || other.n != gemm.n.value)
      tried.push_back(other);
    // Where m is bounded, these m are tried as well: one row, one tile, more tiles than kernels
    // group, and half of the bound. infer() adds each m at which the kernel may do something else.
    const int64_t rows = own_.spec.tile.value[0];
    if (gemm.any_m)
      for (const int64_t m : {int64_t{1}, rows, 8 * rows + 1, gemm.m.value / 2 + 1})
        if (m < gemm.m.value) tried.push_back({m, gemm.n.value, gemm.k.value});
    std::vector<KernelFacts> shapes(tried.size());
    for (size_t i = 0; i < tried.size(); ++i)
      if (!has_blocks(tried[i], shapes[i])) return false;
    if (gemm.any_m && !has_blocks_at_all_m()) return false;
    FactsAt at;
    if (gemm.any_m)
      at = [&](int64_t m) {
        KernelFacts facts;
        facts_at({m, gemm.n.value, gemm.k.value}, facts);
        return facts;
      };
    std::optional<KernelFacts> failed;
    std::optional<Inferred> inferred = infer(parsed, instance.function, shapes, at, &failed);
    if (!inferred) {
      if (failed) note_tried(shapes[0], *failed);
      return false;
    }
    own_.reads_output = inferred->reads_output;
    own_.persistent = own_.spec.loop.value;
    if (inferred->leaves) own_.count_at = (own_.shared_bytes + 15) / 16 * 16;
    return check_loop(parsed, *inferred) && take_order(*inferred);
  }

  // With kernel.loop a block runs the kernel's body again for each of its tiles. Refuses a body
  // that cannot run again.
  bool check_loop(const Parsed& parsed, const Inferred& inferred) const {
    const std::optional<InferredPlace>& obstacle =
        inferred.runs_once ? inferred.runs_once : inferred.leaves;
    if (!own_.persistent || !obstacle) return true;
    parsed.error(obstacle->where,
                 obstacle->what + (inferred.runs_once ? ", and with kernel.loop a block would do "
                                                        "that again for each of its tiles"
                                                      : " here, and with kernel.loop they would "
                                                        "come to the block's next tile"));
    diagnostics_.note(own_.spec.loop.where, "without kernel.loop every tile has a block");
    return false;
  }

  // For a kernel that is proven at the shape that the user asks for, but not at another one that
  // was tried: notes how the spec can say that the kernel need not take the other shape.
  void note_tried(const KernelFacts& asked, const KernelFacts& other) {
    const std::vector<int64_t>& tile = own_.spec.tile.value;
    const std::array<int64_t, 3>& multiples = own_.spec.requires_.value;
    const bool one_m = !spec_.gemm.any_m;  // else a run's m is not known yet
    std::string whole, cures;
    if (one_m && multiples[0] % tile[0] != 0) whole = fmt::format("m: {}", tile[0]);
    if (multiples[1] % tile[1] != 0)
      whole += fmt::format("{}n: {}", whole.empty() ? "" : ", ", tile[1]);
    if (!whole.empty())
      cures = fmt::format("; a kernel of whole tiles alone says so with requires: {{{}}}", whole);
    if (one_m && own_.spec.equals[0] == 0)
      cures += fmt::format(
          "; a kernel of this m alone says so with requires: {{m: {{equals: {}}}}}", asked.m);
    if (!one_m && tile[0] > 1)
      cures += "; rows need a guard, for with '{max: …}' every run has its own m";
    if (cures.empty() && one_m) return;
    diagnostics_.note(own_.spec.tile.where,
                      fmt::format("it is proven at m={}, n={}, and tried at m={}, n={} too{}",
                                  asked.m, asked.n, other.m, other.n, cures));
  }

  bool take_order(Inferred& inferred) {
    own_.order = inferred.order;
    if (own_.order != BlockOrder::table) return true;
    own_.blocks = std::move(inferred.blocks.front());
    std::string why;
    if (spec_.gemm.any_m)
      why = "m is known at run time only";
    else if (own_.blocks.size() > kMostInTable)
      why = fmt::format("{} tiles are more than a table of {} holds", own_.blocks.size(),
                        kMostInTable);
    if (why.empty()) return true;
    diagnostics_.error(own_.spec.grid.where,
                       fmt::format("the blocks of {} are in an order that follows no simple rule, "
                                   "and {}; use blocks in rows or columns",
                                   quote(own_.spec.function.value), why));
    return false;
  }

  const Spec& spec_;
  OwnKernel& own_;
  Diagnostics& diagnostics_;
  PlacedDiagnostics placed_;  // for errors in the kernel's source
};

}  // namespace

Reading reading_of(const OwnKernel& own) {
  Reading reading;
  reading.asked = own.spec.function.value;
  reading.arch = name_of(own.arch);
  if (own.toolkit.empty()) return reading;
  FullMode& full = reading.full.emplace();
  full.toolkit = own.toolkit;
  full.include_dirs = own.folders;
  full.standard = "c++20";  // as generated code is compiled
  for (const std::string& flag : flags_of(own.spec))
    if (const std::string_view macro = macro_of_flag(flag); !macro.empty())
      full.defines.push_back(std::string(macro) + "=1");
  return reading;
}

namespace {

// Describes a CUTLASS kernel. What the planner need not know is checked when generated code is
// compiled. The kernel has one warpgroup that loads and two that multiply
// (tilepost/cutlass/launch.hpp).
bool describe_adapted(OwnKernel& own, Diagnostics& diagnostics) {
  PlacedDiagnostics placed(diagnostics, own.spec.function.where);
  Report report(placed, own.source);
  if (!check_asked(own.spec.function.value, report)) return false;
  placed.asked_at(own.spec.launcher.where);
  if (own.spec.launcher.given() && !check_asked(own.spec.launcher.value, report)) return false;
  if (own.spec.file.value.find_first_of("\"\\\n") != std::string::npos) {
    diagnostics.error(own.spec.file.where,
                      "kernel.file is included by generated code, where its name stands in quotes; "
                      "rename the file");
    return false;
  }
  own.marked = own.persistent = true;
  own.threads = {384, 1, 1};
  return true;
}

}  // namespace

std::shared_ptr<const OwnKernel> examine_kernel(const Spec& spec, std::string_view spec_path,
                                                Diagnostics& diagnostics) {
  if (!spec.kernel) return nullptr;
  auto own = std::make_shared<OwnKernel>();
  own->spec = *spec.kernel;
  own->arch = spec.archs.value.front();
  own->name = woven_name(own->spec.function.value);
  if (!read_source(own->spec, spec_path, own->source, diagnostics)) return nullptr;
  own->folders = folders_of(own->spec, spec_path);
  if (own->spec.cutlass.value) {
    own->name.erase(0, kWoven.size());
    return describe_adapted(*own, diagnostics) ? own : nullptr;
  }
  Examiner examiner(spec, *own, diagnostics);
  KernelFacts facts;
  examiner.facts_at({spec.gemm.m.value, spec.gemm.n.value, spec.gemm.k.value}, facts);
  std::ranges::transform(facts.threads, own->threads.begin(),
                         [](int64_t x) { return static_cast<int32_t>(x); });
  own->grid = facts.grid;
  std::string why;
  own->shared_bytes = static_cast<int32_t>(
      own->spec.shared_bytes.value.at({facts.m, facts.n, facts.k}, why).value_or(0));
  return examiner.examine() ? own : nullptr;
}

}  // namespace tilepost
