#include "generator/emit/parts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

bool reads_tiles_on_gpu(const Program& program) {
  return llvm::any_of(
      program.plans, [](const Plan& plan) { return keeps_tiles(plan) && plan.arch != Arch::host; });
}

// The elements of `out` on the rank that gets the most; 0 if they depend on the route of a run.
int64_t out_elements(const Plan& plan) {
  const tilepost_map_t map = plan.map;
  const int64_t columns = keeps_tiles(plan) ? int64_t{tiles_n(map)} * map.tile_n : plan.map.n;
  if (row_of(plan).out_is_share()) return share_rows(map) * columns;
  if (row_of(plan).input_is_routed()) return map.m * columns;
  if (row_of(plan).routes()) return is_routed(plan) ? 0 : plan.ranks * share_rows(map) * columns;
  return keeps_tiles(plan) ? plan.tile_map().send_elements : plan.map.m * plan.map.n;
}

void emit_out_elements(llvm::raw_ostream& out, const Plan& plan, llvm::StringRef meaning) {
  if (const int64_t elements = out_elements(plan); elements > 0)
    out << "inline constexpr int64_t kOutElements = " << elements << ";  // " << meaning << "\n";
}

// Emits offset() for slot order, in which a tile lies anywhere in one column of tiles.
void emit_slots(llvm::raw_ostream& out, const Plan& plan) {
  const int tile_m = plan.map.tile_m;
  const int tile_n = plan.map.tile_n;
  out << "\n// Where element (row, col) of the result lies in `out`, which stays in slot order. "
         "`rows` is\n// tilepost_op_info_t::rows of the operation.\n"
      << "TILEPOST_INLINE int64_t offset(const int32_t* rows, int row, int col) {\n"
      << "  const int32_t first_row = rows[row / " << tile_m << " * "
      << (plan.map.n + tile_n - 1) / tile_n << " + col / " << tile_n << "];\n"
      << "  return (int64_t{first_row} + row % " << tile_m << ") * " << tile_n << " + col % "
      << tile_n << ";\n}\n";
}

// Emits offset() for slabs: tile columns one after the other, each with whole rows of its width.
void emit_slabs(llvm::raw_ostream& out, const Plan& plan) {
  const int tile_n = plan.map.tile_n;
  out << "\n// Where element (row, col) of a block of `rows` rows lies in it: a slab of " << tile_n
      << " columns after the\n// other. "
      << (row_of(plan).out_is_share()
              ? "`out` is one block, whose rows are the first rank's on every rank.\n"
              : "`out` is a block per source rank, of as many rows as come from there.\n")
      << "TILEPOST_INLINE int64_t offset(int64_t rows, int row, int col) {\n"
      << "  return (col / " << tile_n << " * rows + row) * " << tile_n << " + col % " << tile_n
      << ";\n}\n";
}

// Emits load_row() for kernels that read rows. It reads neighbouring elements in one access,
// wherever the row lies.
void emit_load_row(llvm::raw_ostream& out, const Plan& plan) {
  const bool slabs = plan.map.division == TILEPOST_DIVISION_COLUMNS;
  out << "\n#ifdef __CUDACC__\n"
         "// Elements [col, col + kWidth) of a row of the result. kWidth is 8, 4, 2 or 1 and "
         "divides "
         "kN; col\n// is a multiple of it.\n"
         "template <int kWidth, class T>\n"
         "__device__ __forceinline__ tilepost::rows::Vector<T, kWidth> load_row(\n    const T* "
      << (slabs ? "block, int64_t rows" : "out, const int32_t* rows") << ", int row, int col) {\n"
      << "  return tilepost::rows::load<kWidth>(" << (slabs ? "block" : "out")
      << " + offset(rows, row, col));\n}\n#endif  // __CUDACC__\n";
}

// Emits where elements lie, which depends on the architecture, for code that reads an output that
// stays in tiles. Constants are inside the functions, because the kernel's own names share the
// namespace.
void emit_inverse(llvm::raw_ostream& out, const Plan& plan) {
  out << "\nnamespace " << namespace_of(plan) << " {\n\n";
  emit_out_elements(out, plan, "as it stays, in tiles");
  plan.map.division == TILEPOST_DIVISION_COLUMNS ? emit_slabs(out, plan) : emit_slots(out, plan);
  if (plan.arch != Arch::host) emit_load_row(out, plan);
  out << "\n}  // namespace " << namespace_of(plan) << "\n";
}

// Emits a reference to the plan symbol that linkers keep even if they drop unused data.
void emit_plan_symbol(llvm::raw_ostream& out, const Program& program) {
  const std::string symbol = plan_symbol(program);
  out << "// The source of this set alone defines it: what includes this header does not "
         "link with another's.\n"
      << "extern const char " << symbol << ";\n"
      << "#if __has_attribute(retain)\n__attribute__((retain))\n#endif\n"
      << "__attribute__((used)) static const char* const tilepost_linked_" << program.name()
      << " =\n    &" << symbol << ";\n\n";
}

// A comment about data that runs hand to a kernel of the user's own, and that no type describes.
std::string user_data_of(const Plan& plan) {
  if (!plan.source.own) return "";
  const KernelSpec& kernel = plan.source.own->spec;
  std::string text;
  if (kernel.b_bytes.given())
    text += "// b of every run is in the kernel's own form, of so many bytes: " +
            kernel.b_bytes.value.text() + "\n\n";
  if (kernel.user.value.empty()) return text;
  text +=
      "// tilepost_run_operands_t::user of every run points to the addresses of these, which the "
      "kernel reads:\n";
  for (const UserData& data : kernel.user.value)
    text += "//   " + data.name + ", of so many bytes: " + data.bytes.text() + "\n";
  return text + "\n";
}

}  // namespace

std::string emit_header(const Program& program) {
  const Plan &plan = program.first(), &last = program.last_operation();
  const bool layer = plan.half != Half::none;
  const std::string guard = "TILEPOST_GENERATED_" + plan.name + "_H";
  std::string text;
  llvm::raw_string_ostream out(text);
  out << provenance(program) << "#ifndef " << guard << "\n#define " << guard << "\n\n"
      << "#include <tilepost/tilepost.h>\n\n"
      << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << user_data_of(plan) << "// For tilepost_op_create. Static storage, never null.\n"
      << "const tilepost_program_t* " << plan.name << "_program(void);\n\n";
  emit_plan_symbol(out, program);
  out << "#ifdef __cplusplus\n}  // extern \"C\"\n\n"
      << "#include <tilepost/mark.cuh>\n\n"
      << (reads_tiles_on_gpu(program)
              ? "#ifdef __CUDACC__\n#include <tilepost/device/rows.cuh>\n#endif\n\n"
              : "")
      << "namespace " << namespace_of(plan.name) << " {\n\n"
      << "inline constexpr int64_t kM = " << rows_of_runs(plan) << ";  // "
      << (plan.any_m ? "most rows of " : "rows of ")
      << (row_of(plan).input_is_routed() ? "A on each rank"
          : layer                        ? "tokens, of all ranks"
                                         : "the product")
      << "\n";
  if (row_of(plan).input_is_routed())
    out << "inline constexpr int64_t kMaxReceived = " << plan.map.m
        << ";  // most rows of the product\n";
  out << "inline constexpr int64_t kN = " << plan.map.n << ";  // "
      << (layer ? "inner size of an expert" : "columns of the result") << "\n"
      << "inline constexpr int64_t kK = " << plan.k << ";  // "
      << (layer ? "elements of a token" : "products of a sum, on each rank") << "\n"
      << "inline constexpr int kRanks = " << plan.ranks << ";\n"
      << "inline constexpr uint64_t kFiles = 0x" << program.set_hash
      << ";  // the same in the source that belongs to this header\n";
  if (llvm::all_of(program.plans, [&](const Plan& each) {
        return each.half != last.half || each.range > 0 || out_elements(each) == out_elements(last);
      }))
    emit_out_elements(out, last,
                      row_of(last).product_leaves() || row_of(last).input_is_routed()
                          ? "what `out` holds at most"
                          : "what `out` holds");
  out << "\n}  // namespace " << namespace_of(plan.name) << "\n";
  for (const Plan& each : program.plans)
    if (keeps_tiles(each)) emit_inverse(out, each);
  out << "\n#endif  // __cplusplus\n\n#endif  // " << guard << "\n";
  return text;
}

}  // namespace tilepost
