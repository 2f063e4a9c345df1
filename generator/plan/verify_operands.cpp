#include "generator/plan/verify_parts.h"

#include "llvm/Support/FormatVariadic.h"

namespace tilepost {
namespace {

using llvm::formatv;

// What the pattern and the types allow.
void check_operations(const Plan& plan, Findings& findings) {
  const int nonlinear = TILEPOST_GELU | TILEPOST_SILU | TILEPOST_RESIDUAL;
  if (reduces(plan.pattern) && (plan.epilogue & nonlinear) != 0)
    findings.add(formatv("epilogue {0:x} before a sum over ranks", plan.epilogue));
  if (!communicates(plan.pattern) && plan.transport != Transport::none)
    findings.add(formatv("transport {0} with nothing to send", name_of(plan.transport)));
  if (plan.routing != Routing::even && plan.pattern != Pattern::gemm_all_to_all)
    findings.add(formatv("routing {0} with {1}", name_of(plan.routing), name_of(plan.pattern)));
  if (plan.output == ElementType::e4m3) findings.add("an output of 8 bits");
  if (plan.input != ElementType::e4m3) return;
  if (plan.operands == GemmLayout::nn) findings.add("e4m3 along n");
  if (plan.arch == Arch::sm_80 || plan.arch == Arch::sm_86)
    findings.add(formatv("e4m3 on {0}", name_of(plan.arch)));
}

// What a consumer can follow.
void check_consumer(const Plan& plan, Findings& findings) {
  const bool tiles = plan.layout == OutputLayout::tile;
  const bool exchanges = plan.pattern == Pattern::gemm_all_to_all;
  const bool gathers = plan.pattern == Pattern::all_gather_gemm;
  if (gathers && tiles) findings.add("tiles in slot order, and nothing is sent after the GEMM");
  const bool unpermutes = plan.consumer == Consumer::unpermute;
  const bool norms = plan.consumer != Consumer::none && !unpermutes;
  if ((unpermutes && !tiles) || (norms && (exchanges || gathers)))
    findings.add(formatv("consumer {0} after {1} in layout {2}", name_of(plan.consumer),
                         name_of(plan.pattern), name_of(plan.layout)));
}

// A box of a tensor map and the rows it cuts: CUDA driver API, cuTensorMapEncodeTiled.
void check_box(char name, const tilepost_box_t& box, int64_t row_elements, ElementType type,
               Findings& findings) {
  const int64_t bytes = type == ElementType::e4m3 ? 1 : 2;
  if (box.rows < 1 || box.rows > 256 || box.columns < 1 || box.columns > 256 ||
      box.columns * bytes % 16 != 0 || (box.swizzle == 128 && box.columns * bytes > 128))
    findings.add(formatv("a box of {0} columns and {1} rows of {2}", box.columns, box.rows, name));
  if (row_elements * bytes % 16 != 0)
    findings.add(formatv("rows of {0} are {1} bytes long, TMA needs multiples of 16", name,
                         row_elements * bytes));
}

void check_tensor_maps(const Plan& plan, Findings& findings) {
  const KernelPlan& kernel = plan.kernel;
  if (kernel.launch != LaunchKind::tma) return;
  const bool nn = plan.operands == GemmLayout::nn;
  check_box('A', kernel.box_a, plan.k, plan.input, findings);
  check_box('B', kernel.box_b, nn ? plan.n : plan.k, plan.input, findings);
  check_box('C', kernel.box_c, plan.layout == OutputLayout::panel ? plan.n : kernel.tile_n,
            plan.output, findings);
}

}  // namespace

void verify_operands(const Plan& plan, Findings& findings) {
  check_operations(plan, findings);
  check_consumer(plan, findings);
  check_tensor_maps(plan, findings);
}

}  // namespace tilepost
