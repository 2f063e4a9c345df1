#include "generator/plan/kernels/operands.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/spec/names.h"
#include "runtime/map/quantised.h"
#include "runtime/map/tile_map.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

constexpr int kTmaBytes = 16;  // strides are multiples (CUDA driver API, cuTensorMapEncodeTiled)

// How many elements one access of at most 16 bytes may move, in rows of `elements` elements that
// lie one behind the other in memory that starts on 16 bytes.
int vector_of(int64_t elements, tilepost_dtype_t type) {
  for (int vector = 16 / bytes_of(type); vector > 1; vector /= 2)
    if (elements % vector == 0) return vector;
  return 1;
}

}  // namespace

int64_t aligned(int64_t elements, tilepost_dtype_t type) {
  const int64_t along = kTmaBytes / bytes_of(type);
  return (elements + along - 1) / along * along;
}

int bytes_of(tilepost_dtype_t type) {
  return static_cast<int>(element_bytes(type));
}

std::string why_not_input(const Plan& plan) {
  if (!row_of(plan.input).is_narrow()) return "";
  if (plan.arch != Arch::sm_80 && plan.arch != Arch::sm_86) return "";
  return fmt::format(
      "{0} is not available on {1}, whose tensor cores multiply 16-bit types; "
      "use sm_89 or sm_90a, or {2}",
      name_of(plan.input), name_of(plan.arch), dtypes_with<&DtypeRow::is_bundled_output>("or"));
}

std::string why_not_tma(const Plan& plan) {
  const DtypeRow& input = row_of(plan.input);
  const int along_k = kTmaBytes / bytes_of(plan.input);
  if (plan.k % along_k != 0)
    return fmt::format("gemm_sm90 needs K a multiple of {0}{1}, not {2}", along_k,
                       input.is_narrow() ? fmt::format(" for {0}", input.name) : "", plan.k);
  const int along_n = kTmaBytes / bytes_of(type_of_out(plan));
  if (plan.map.n % along_n == 0) return "";
  if (plan.quantised != 0)
    return fmt::format("gemm_sm90 needs N a multiple of {0} for an output of {1}, not {2}", along_n,
                       name_of(type_of_out(plan)), plan.map.n);
  if (plan.operands == TILEPOST_NN)
    return fmt::format("gemm_sm90 needs N a multiple of {0} for B of layout nn, not {1}", along_n,
                       plan.map.n);
  if (plan.epilogue != 0 && plan.map.n % 2 != 0)
    return fmt::format("gemm_sm90 needs an even N for its epilogue, not {0}", plan.map.n);
  if (plan.map.layout == TILEPOST_PANEL)
    return fmt::format("gemm_sm90 needs N a multiple of {0} in the panel layout, not {1}", along_n,
                       plan.map.n);
  return "";
}

KernelRequest request_for(const Plan& plan) {
  KernelRequest request;
  request.routed = scatters_rows(plan);
  request.added = plan.access == TILEPOST_ACCESS_WRITE && plan.sum == TILEPOST_SUM_ADDED;
  request.element = plan.input;
  request.output = plan.output;
  request.operands = plan.operands;
  request.accumulate = plan.accumulate;
  request.scales = plan.scales;
  request.scales_a = plan.scales_a;
  request.quantises = quantises_tiles(plan);
  request.epilogue = plan.epilogue;
  // The residual of tokens is added where their rows are summed.
  if (row_of(plan).combines()) request.epilogue &= ~static_cast<int>(TILEPOST_RESIDUAL);
  request.gate = plan.gate;
  request.gathers = row_of(plan).dispatches();
  request.normalises = kernels_normalise(plan);
  request.load_vector = vector_of(plan.k, plan.input);
  request.load_vector_b =
      plan.operands == TILEPOST_NN ? vector_of(plan.map.n, plan.input) : request.load_vector;
  request.store_vector = plan.map.layout == TILEPOST_PANEL ? vector_of(plan.map.n, plan.output)
                                                           : vector_of(0, plan.output);
  return request;
}

void request_exchange(const Plan& plan, KernelRequest& request) {
  request.shots = plan.shots;
  request.ranks = plan.ranks;
  if (row_of(plan).product_leaves()) request.share_rows = plan.any_m ? 1 : share_rows(plan.map);
}

}  // namespace tilepost
