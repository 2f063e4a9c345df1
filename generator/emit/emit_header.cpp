#include "generator/emit/parts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {
namespace {

bool keeps_tiles(const Plan& plan) {
  return plan.layout == OutputLayout::tile && plan.consumer == Consumer::none;
}

int64_t out_elements(const Plan& plan) {
  return keeps_tiles(plan) ? plan.map.send_elements : plan.m * plan.n;
}

// What depends on the architecture: where elements lie, for whoever reads the output in slot order.
// Constants stay inside the function: the kernel's own names share the namespace.
void emit_inverse(llvm::raw_ostream& out, const Plan& plan) {
  const int tile_m = plan.kernel.tile_m;
  const int tile_n = plan.kernel.tile_n;
  out << "\nnamespace " << namespace_of(plan) << " {\n\n"
      << "inline constexpr int64_t kOutElements = " << out_elements(plan) << ";  // in slot order\n"
      << "\n// Where element (row, col) of the result lies in `out`, which stays in slot order. "
         "`rows` is\n// tilepost_op_info_t::rows of the operation.\n"
      << "TILEPOST_INLINE int64_t offset(const int32_t* rows, int row, int col) {\n"
      << "  const int32_t first_row = rows[row / " << tile_m << " * "
      << (plan.n + tile_n - 1) / tile_n << " + col / " << tile_n << "];\n"
      << "  return (int64_t{first_row} + row % " << tile_m << ") * " << tile_n << " + col % "
      << tile_n << ";\n}\n\n}  // namespace " << namespace_of(plan) << "\n";
}

}  // namespace

std::string emit_header(const Program& program) {
  const Plan& plan = program.first();
  const std::string guard = "TILEPOST_GENERATED_" + llvm::StringRef(plan.name).upper() + "_H";
  std::string text;
  llvm::raw_string_ostream out(text);
  out << provenance(program) << "#ifndef " << guard << "\n#define " << guard << "\n\n"
      << "#include <tilepost/tilepost.h>\n\n"
      << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << "// For tilepost_op_create. Static storage, never null.\n"
      << "const tilepost_program_t* " << plan.name << "_program(void);\n\n"
      << "#ifdef __cplusplus\n}  // extern \"C\"\n\n"
      << "#include <tilepost/mark.cuh>\n\n"
      << "namespace " << plan.name << " {\n\n"
      << "inline constexpr int64_t kM = " << plan.m << ";  // rows of A and of the result\n"
      << "inline constexpr int64_t kN = " << plan.n << ";  // columns of the result\n"
      << "inline constexpr int64_t kK = " << plan.k << ";  // products of a sum, on each rank\n"
      << "inline constexpr int kRanks = " << plan.ranks << ";\n";
  if (llvm::all_of(program.plans,
                   [&](const Plan& each) { return out_elements(each) == out_elements(plan); }))
    out << "inline constexpr int64_t kOutElements = " << out_elements(plan)
        << ";  // what `out` holds\n";
  out << "\n}  // namespace " << plan.name << "\n";
  for (const Plan& each : program.plans)
    if (keeps_tiles(each)) emit_inverse(out, each);
  out << "\n#endif  // __cplusplus\n\n#endif  // " << guard << "\n";
  return text;
}

}  // namespace tilepost
