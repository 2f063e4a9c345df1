#include "generator/plan/kernels/operands.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/kernels/small_kernel.h"
#include "runtime/map/tile_map.h"

namespace tilepost {
namespace {

constexpr int kTmaBytes = 16;  // strides are multiples (CUDA driver API, cuTensorMapEncodeTiled)

// Elements of a row of length `elements` that one access of at most 16 bytes may move, given rows
// that start on 16 bytes only if the length allows it.
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

int sums_held(const KernelConfig& config, const Plan& plan) {
  const bool precise = plan.input == TILEPOST_E4M3 && plan.accumulate == TILEPOST_PRECISE;
  return sums_of_thread(config) * (precise ? 2 : 1);
}

std::string why_not_input(const Plan& plan) {
  if (plan.input != TILEPOST_E4M3) return "";
  if (plan.arch != Arch::sm_80 && plan.arch != Arch::sm_86) return "";
  return fmt::format(
      "e4m3 is not available on {0}, whose tensor cores multiply 16-bit types; "
      "use sm_89 or sm_90a, or bf16 or f16",
      name_of(plan.arch));
}

std::string why_not_tma(const Plan& plan) {
  const int along_k = kTmaBytes / bytes_of(plan.input);
  if (plan.k % along_k != 0)
    return fmt::format("gemm_sm90 needs K a multiple of {0}{1}, not {2}", along_k,
                       plan.input == TILEPOST_E4M3 ? " for e4m3" : "", plan.k);
  const int along_n = kTmaBytes / bytes_of(plan.output);
  if (plan.map.n % along_n == 0) return "";
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

// Precise sums of e4m3 are kept twice: the tensor cores' own, and those in fp32 that they are added
// to.
bool can_sum(const KernelConfig& config, const Plan& plan) {
  if (plan.epilogue != 0 && !config.epilogue) return false;
  const bool precise = plan.input == TILEPOST_E4M3 && plan.accumulate == TILEPOST_PRECISE;
  if (is_small(config)) return holds_sums(config, precise, plan.epilogue);
  if (!is_sm90(config)) return true;                   // has rows for it
  const int most = config.consumers == 3 ? 104 : 192;  // gemm_sm90.cu asserts it
  return sums_held(config, plan) <= (plan.epilogue == 0 ? most : std::min(most, kMostBesideMore));
}

bool can_route(const KernelConfig& config, const Plan& plan) {
  if (!scatters_rows(plan)) return true;
  if (is_small(config) || config.pingpong || config.across > 1) return false;
  constexpr int kWhole = 64;  // columns of a panel: where there are fewer, the warp lacks registers
  return !is_sm90(config) ||
         (!config.swapped && config.consumers == 2 && config.panel_n == kWhole &&
          sums_held(config, plan) <= kMostBesideMore);
}

bool can_load(const KernelConfig& config, const Plan& plan) {
  constexpr int kSlab = 64;
  return !is_sm90(config) || plan.operands != TILEPOST_NN ||
         (columns_of_cta(config) % kSlab == 0 && !fills_registers(config));
}

KernelRequest request_for(const Plan& plan) {
  KernelRequest request;
  request.routed = scatters_rows(plan);
  request.added = plan.access == TILEPOST_ACCESS_WRITE && plan.sum == TILEPOST_SUM_ADDED;
  request.element = plan.input;
  request.output = plan.output;
  request.operands = plan.operands;
  request.accumulate = plan.accumulate;
  request.epilogue = plan.epilogue;
  request.normalises = normalises(plan);
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
