#include "generator/infer/infer.h"

#include <set>
#include <utility>

#include "generator/clang/guard/faults.h"
#include "generator/infer/boundaries.h"
#include "generator/infer/footprint.h"
#include "generator/infer/interpreter.h"
#include "generator/infer/source/hidden_stores.h"

namespace tilepost {
namespace {

using inference::Boundaries;
using inference::Complaint;
using inference::Effects;
using inference::Footprint;
using inference::Interpreter;

// Each run finds another loop to unroll, or one that cannot be unrolled.
constexpr int kMaxRuns = 2000;

void report(const Parsed& parsed, const Complaint& complaint) {
  if (complaint.where.isInvalid()) {
    parsed.report.error(complaint.text);
    return;
  }
  parsed.error(complaint.where, complaint.text);
  if (!complaint.note.empty()) parsed.note(complaint.note_at, complaint.note);
}

// Whether the numbers are within bounds that can be enumerated. The spec's rules have already
// refused others.
bool is_sound(const Parsed& parsed, const clang::FunctionDecl* kernel, const KernelFacts& facts) {
  const auto positive = [](const auto& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t x) { return x > 0; });
  };
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto small = [](const auto& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t x) { return x <= kMost; });
  };
  const bool element = facts.out_bytes > 0 && facts.out_bytes <= 16 &&
                       (facts.out_bytes & (facts.out_bytes - 1)) == 0;
  const std::array<int64_t, 3> shape{facts.m, facts.n, facts.k};
  const bool sound = element && positive(facts.tile) && positive(facts.threads) &&
                     positive(facts.grid) && positive(shape) && small(facts.tile) &&
                     small(facts.grid) && small(shape) && facts.out_ld >= facts.n &&
                     facts.out_ld <= kMost && facts.tile[0] * facts.tile[1] <= int64_t{1} << 24 &&
                     facts.threads[0] <= 1024 && facts.threads[1] <= 1024 &&
                     facts.threads[2] <= 1024 &&
                     facts.threads[0] * facts.threads[1] * facts.threads[2] <= 1024;
  if (!sound) {
    parsed.error(kernel->getLocation(),
                 "tile, threads, grid, shape or the output's row length are out of bounds: a block "
                 "has 1 to 1024 threads, a tile at most 16777216 elements, a row of the output at "
                 "least n");
  }
  return sound;
}

// The rule of an order: the coordinates of the block that makes the tile at a row and a column.
struct OrderRule {
  BlockOrder order;
  std::array<int64_t, 3> (*block)(int64_t row, int64_t column, int64_t rows, int64_t columns);
};

using Int = int64_t;
constexpr OrderRule kOrders[] = {
    {BlockOrder::columns_then_rows,
     [](Int row, Int column, Int, Int) -> std::array<Int, 3> {
       return {column, row, 0};
     }},
    {BlockOrder::rows_then_columns,
     [](Int row, Int column, Int, Int) -> std::array<Int, 3> {
       return {row, column, 0};
     }},
    {BlockOrder::columns_and_depth,
     [](Int row, Int column, Int, Int) -> std::array<Int, 3> {
       return {column, 0, row};
     }},
    {BlockOrder::rows_and_depth,
     [](Int row, Int column, Int, Int) -> std::array<Int, 3> {
       return {row, 0, column};
     }},
    {BlockOrder::linear_by_rows,
     [](Int row, Int column, Int, Int columns) -> std::array<Int, 3> {
       return {row * columns + column, 0, 0};
     }},
    {BlockOrder::linear_by_columns,
     [](Int row, Int column, Int rows, Int) -> std::array<Int, 3> {
       return {column * rows + row, 0, 0};
     }},
};

// Whether the blocks that make the tiles of one shape are those that the rule names.
bool follows(const OrderRule& rule, const KernelFacts& facts, const std::vector<int64_t>& blocks) {
  const int64_t rows = (facts.m + facts.tile[0] - 1) / facts.tile[0];
  const int64_t columns = (facts.n + facts.tile[1] - 1) / facts.tile[1];
  const int64_t x = facts.grid[0], y = facts.grid[1];
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t block = blocks[row * columns + column];
      const std::array<int64_t, 3> at{block % x, block / x % y, block / (x * y)};
      if (at != rule.block(row, column, rows, columns)) return false;
    }
  }
  return true;
}

// Proves the kernel at one shape after the other.
class Proof {
 public:
  Proof(const Parsed& parsed, const clang::FunctionDecl* kernel)
      : parsed_(parsed), kernel_(kernel) {}

  // `boundaries` is not null if m is bounded and the shape is that of a run.
  bool prove(const KernelFacts& facts, Boundaries* boundaries);
  // After the given shapes are proven, proves all m that are left. `last` becomes the last one that
  // was tried.
  bool prove_rest(Boundaries& boundaries, const FactsAt& at, KernelFacts& last);

  std::vector<int64_t> take_blocks() { return std::move(blocks_); }

  Inferred inferred;

 private:
  bool run(const KernelFacts& facts, Boundaries* boundaries);
  void note_order(const KernelFacts& facts);

  const Parsed& parsed_;
  const clang::FunctionDecl* kernel_;
  std::vector<int64_t> blocks_;        // for the shape that was run last
  std::set<BlockOrder> contradicted_;  // orders that some shape does not follow
};

// Finds the stores of the kernel at one shape and proves them. The kernel is run again whenever
// another loop must be unrolled.
bool Proof::run(const KernelFacts& facts, Boundaries* boundaries) {
  inference::Unrolling unrolling;
  unrolling.shared_work = inference::find_shared_work(kernel_);
  for (int runs = 0; runs < kMaxRuns; ++runs) {
    Interpreter interpreter(parsed_, facts, unrolling, boundaries ? &boundaries->terms() : nullptr);
    const bool done = interpreter.run(kernel_);
    note_place(parsed_.expanded(kernel_->getLocation()));
    if (!done) continue;
    const Effects& effects = interpreter.effects();
    std::vector<Complaint> complaints = interpreter.complaints();
    if (complaints.empty()) {
      Footprint footprint = inference::find_footprint(interpreter.nodes(), effects, facts);
      complaints = footprint.complaints;
      if (footprint.meeting.isValid() && !inferred.leaves)
        inferred.leaves = {footprint.meeting, "warps that have left the kernel are not waited for"};
      blocks_ = std::move(footprint.blocks);
      if (boundaries) boundaries->tried(facts.m, inference::work_of(effects, facts));
    }
    for (const Complaint& complaint : complaints) report(parsed_, complaint);
    inferred.reads_output = inferred.reads_output || !effects.reads.empty();
    if (!inferred.runs_once) inferred.runs_once = interpreter.runs_once();
    return complaints.empty();
  }
  parsed_.error(kernel_->getLocation(),
                "more than " + llvm::Twine(kMaxRuns) +
                    " loops had to be followed to find where the kernel stores");
  return false;
}

void Proof::note_order(const KernelFacts& facts) {
  for (const OrderRule& rule : kOrders)
    if (!follows(rule, facts, blocks_)) contradicted_.insert(rule.order);
  inferred.order = BlockOrder::table;
  for (const OrderRule& rule : kOrders) {
    if (contradicted_.contains(rule.order)) continue;
    inferred.order = rule.order;
    return;
  }
}

bool Proof::prove(const KernelFacts& facts, Boundaries* boundaries) {
  if (!is_sound(parsed_, kernel_, facts) || !run(facts, boundaries)) return false;
  note_order(facts);
  return true;
}

bool Proof::prove_rest(Boundaries& boundaries, const FactsAt& at, KernelFacts& last) {
  while (inferred.order != BlockOrder::table) {
    const std::optional<int64_t> m = boundaries.next();
    if (!m) break;
    last = at(*m);
    if (!prove(last, &boundaries)) return false;
  }
  if (!boundaries.too_many()) return true;
  parsed_.error(kernel_->getLocation(),
                "what this kernel does may change at more values of m than can be tried, and where "
                "m is bounded every run has its own");
  parsed_.note(kernel_->getLocation(),
               "give one m, or a smaller bound; or decide less by m: a guard of the rows alone");
  return false;
}

// Whether the outermost namespace is cutlass: cutlass::gemm::kernel::GemmUniversal.
bool is_cutlass(const clang::Decl* decl) {
  const clang::DeclContext* context = decl->getDeclContext();
  const clang::NamespaceDecl* outermost = nullptr;
  for (; context; context = context->getParent())
    if (const auto* space = clang::dyn_cast<clang::NamespaceDecl>(context)) outermost = space;
  return outermost && outermost->getName() == "cutlass";
}

}  // namespace

std::optional<Inferred> infer(const Parsed& parsed, const clang::FunctionDecl* kernel,
                              const std::vector<KernelFacts>& shapes, const FactsAt& at,
                              std::optional<KernelFacts>* failed) {
  Proof proof(parsed, kernel);
  if (shapes.empty()) return std::nullopt;
  const KernelFacts& first = shapes.front();
  std::optional<Boundaries> boundaries;
  if (at) boundaries.emplace(first.m, at);
  for (const KernelFacts& facts : shapes) {
    const bool of_run = boundaries && facts.n == first.n && facts.k == first.k;
    if (!proof.prove(facts, of_run ? &*boundaries : nullptr)) {
      if (failed && &facts != &first) *failed = facts;
      return std::nullopt;
    }
    proof.inferred.blocks.push_back(proof.take_blocks());
  }
  KernelFacts last = first;
  if (!boundaries || proof.prove_rest(*boundaries, at, last)) return std::move(proof.inferred);
  if (failed && last.m != first.m && !boundaries->too_many()) *failed = last;
  return std::nullopt;
}

void refuse_structure(const Parsed& parsed, const clang::FunctionDecl* kernel,
                      const clang::ParmVarDecl* parameter) {
  const char* marks = is_cutlass(kernel)
                          ? "a kernel of CUTLASS 3.x is given tilepost's scheduler and epilogue "
                            "instead, with kernel.adapter: cutlass"
                          : "mark the kernel instead: tilepost::tile, out_base or out_coord, and "
                            "tile_done";
  if (const auto shared = inference::find_shared_work(kernel)) {
    parsed.error(shared->where, "blocks wait for each other or add to one tile here (" +
                                    shared->what +
                                    "), and which of them makes a tile cannot be followed");
    parsed.note(shared->where,
                "use the kernel without split-K: a block must make its tile by itself");
    return;
  }
  const auto by_map = inference::find_by_map(kernel);
  if (by_map && by_map->changes) {
    parsed.error(by_map->where, "the kernel makes tensor maps of its own here (" + by_map->what +
                                    "), and tiles that it stores by them may go anywhere");
    parsed.note(by_map->where,
                "a kernel for several outputs at once is launched for one of them at a time");
  } else if (by_map) {
    parsed.error(by_map->where, "the kernel stores in bulk here (" + by_map->what +
                                    "): where that goes is in a tensor map or in memory, and "
                                    "cannot be seen");
    parsed.note(by_map->where, marks);
  } else {
    parsed.error(parameter->getLocation(),
                 "parameter '" + parameter->getName() +
                     "' is a structure, and where a kernel stores through pointers in one is not "
                     "followed");
    parsed.note(parameter->getLocation(),
                is_cutlass(kernel) ? marks
                                   : "hand the output over as a pointer, or mark the kernel: "
                                     "tilepost::tile, out_base or out_coord, and tile_done");
  }
}

}  // namespace tilepost
