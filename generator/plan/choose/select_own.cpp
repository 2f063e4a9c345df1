// The part of select_kernels for a kernel of the user's own: whether the architecture can run it,
// and which divisions of the schedule it can serve.
#include <fmt/format.h>

#include "generator/plan/choose/draft.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/own/own.h"
#include "generator/plan/transports/transports.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/whole_numbers.h"

namespace tilepost {

std::string why_not_division(const Draft& draft, tilepost_transport_t transport) {
  if (!draft.own || division_of(draft.plan, transport) != TILEPOST_DIVISION_SHARES) return "";
  const int64_t tile = draft.own->spec.tile.value[0];
  const int64_t share = ceil_div(draft.plan.map.m, draft.plan.ranks);
  if (draft.plan.any_m || is_routed(draft.plan))
    return fmt::format(
        "runs say where shares of the rows begin, and {} computes tiles from "
        "multiples of {} rows only",
        draft.own->name, tile);
  if (share % tile == 0) return "";
  return fmt::format(
      "every rank has a share of {} rows, and {} computes tiles from multiples of {} "
      "rows only",
      share, draft.own->name, tile);
}

namespace {

// Whether TMA can store the box that the spec gives, if it gives one. Reports an error if not.
bool check_box(Draft& draft) {
  const Located<std::vector<int64_t>>& given = draft.own->spec.store_box;
  if (!given.given()) return true;
  const std::vector<int64_t>& box = given.value;
  const int64_t bytes = box[1] * element_bytes(draft.plan.output);
  const bool swizzled = box[2] == 128;
  if (box[0] >= 1 && bytes >= 16 && bytes % 16 == 0 && (box[2] == 0 || swizzled) &&
      (!swizzled || bytes <= 128))
    return true;
  draft.diagnostics.error(
      given.where,
      fmt::format("kernel.store_box is [rows, columns, swizzle]: at least a row, of a multiple of "
                  "16 bytes, at most 128 with a swizzle of 128, which is that or 0; got "
                  "[{}, {}, {}] with rows of {} bytes",
                  box[0], box[1], box[2], bytes));
  return false;
}

}  // namespace

bool select_own(Draft& draft) {
  const OwnKernel& own = *draft.own;
  if (!check_box(draft)) return false;
  const int64_t bound = arch_info(draft.plan.arch).shared_per_block;
  const KernelConfig config = own_config(draft.own);
  if (const int64_t bytes = shared_bytes(config); bytes > bound) {
    const int64_t counts = bytes - own.shared_bytes;
    draft.diagnostics.error(
        own.spec.shared_bytes.where,
        fmt::format("kernel.shared_bytes is {}, {} has {} per block{}", own.shared_bytes,
                    name_of(draft.plan.arch), bound,
                    counts > 0
                        ? fmt::format(", of which the woven kernel needs {} to count threads "
                                      "that have ended",
                                      counts)
                        : ""));
    return false;
  }
  const std::optional<tilepost_transport_t> wish = draft.spec.transport.value;
  if (wish && transport_of(*wish).row.overlaps) {
    const std::string why = why_not_division(draft, *wish);
    if (!why.empty()) {
      draft.diagnostics.error(
          draft.spec.transport.where,
          fmt::format("transport '{}' is not possible: {}; use 'auto' or 'none'", name_of(*wish),
                      why));
      return false;
    }
  }
  draft.add_reason(fmt::format(
      "kernel {} as the spec describes it; {}", own.name,
      own.persistent ? "its CTAs take the tiles in turn, and leave SMs to what runs beside it"
                     : "it has a CTA for each tile, which take all SMs, and what runs beside it "
                       "gets SMs as CTAs end"));
  if (own.reads_output)
    draft.add_reason("kernel reads its output, so each of its blocks clears its tile first");
  KernelRequest request = request_for(draft.plan);
  request.cluster = static_cast<int>(own.spec.cluster.value);
  request.band = band_of(config, request.cluster, draft.plan.map.m, draft.profile.gemm.band_rows);
  draft.kernels.push_back({config, request});
  return true;
}

}  // namespace tilepost
