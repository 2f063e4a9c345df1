#include "generator/plan/verify/verify_parts.h"

#include "llvm/Support/FormatVariadic.h"

namespace tilepost {
namespace {

using llvm::formatv;

// What the pattern and the types allow.
void check_operations(const Plan& plan, Findings& findings) {
  const int nonlinear = TILEPOST_GELU | TILEPOST_SILU | TILEPOST_RESIDUAL;
  if (reduces(plan.pattern) && (plan.epilogue & nonlinear) != 0)
    findings.add(formatv("epilogue {0:x} before a sum over ranks", plan.epilogue));
  if (!communicates(plan.pattern) && plan.transport != TILEPOST_TRANSPORT_NONE)
    findings.add(formatv("transport {0} with nothing to send", name_of(plan.planned_transport)));
  if (plan.routing != TILEPOST_ROUTING_EVEN && plan.pattern != TILEPOST_GEMM_ALL_TO_ALL)
    findings.add(formatv("routing {0} with {1}", name_of(plan.routing), name_of(plan.pattern)));
  if (plan.output == TILEPOST_E4M3) findings.add("an output of 8 bits");
  if (plan.input != TILEPOST_E4M3) return;
  if (plan.operands == TILEPOST_NN) findings.add("e4m3 along n");
  if (plan.arch == Arch::sm_80 || plan.arch == Arch::sm_86)
    findings.add(formatv("e4m3 on {0}", name_of(plan.arch)));
}

// What a consumer can follow.
void check_consumer(const Plan& plan, Findings& findings) {
  const bool tiles = plan.map.layout == TILEPOST_TILE;
  const bool exchanges = plan.pattern == TILEPOST_GEMM_ALL_TO_ALL;
  const bool gathers = plan.pattern == TILEPOST_ALL_GATHER_GEMM;
  if (gathers && tiles) findings.add("tiles in slot order, and nothing is sent after the GEMM");
  const bool unpermutes = plan.consumer == TILEPOST_CONSUMER_UNPERMUTE;
  const bool norms = plan.consumer != TILEPOST_CONSUMER_NONE && !unpermutes;
  if ((unpermutes && !tiles) || (norms && (exchanges || gathers)))
    findings.add(formatv("consumer {0} after {1} in layout {2}", name_of(plan.consumer),
                         name_of(plan.pattern), name_of(plan.map.layout)));
}

// A box of a tensor map and the rows it cuts: CUDA driver API, cuTensorMapEncodeTiled.
void check_box(char name, const tilepost_box_t& box, int64_t row_elements, tilepost_dtype_t type,
               Findings& findings) {
  const int64_t bytes = type == TILEPOST_E4M3 ? 1 : 2;
  if (box.rows < 1 || box.rows > 256 || box.columns < 1 || box.columns > 256 ||
      box.columns * bytes % 16 != 0 || (box.swizzle == 128 && box.columns * bytes > 128))
    findings.add(formatv("a box of {0} columns and {1} rows of {2}", box.columns, box.rows, name));
  if (row_elements * bytes % 16 != 0)
    findings.add(formatv("rows of {0} are {1} bytes long, TMA needs multiples of 16", name,
                         row_elements * bytes));
}

void check_tensor_maps(const Plan& plan, Findings& findings) {
  const tilepost_kernel_t& kernel = plan.kernel;
  if (kernel.launch != TILEPOST_LAUNCH_TMA) return;
  const bool nn = plan.operands == TILEPOST_NN;
  check_box('A', kernel.box_a, plan.k, plan.input, findings);
  check_box('B', kernel.box_b, nn ? plan.map.n : plan.k, plan.input, findings);
  check_box('C', kernel.box_c, plan.map.layout == TILEPOST_PANEL ? plan.map.n : plan.map.tile_n,
            plan.output, findings);
}

}  // namespace

void verify_operands(const Plan& plan, Findings& findings) {
  check_operations(plan, findings);
  check_consumer(plan, findings);
  check_tensor_maps(plan, findings);
}

}  // namespace tilepost
