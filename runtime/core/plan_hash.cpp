#include "runtime/core/plan_hash.h"

#include <bit>
#include <initializer_list>

#include "runtime/map/fnv1a.h"

namespace tilepost {
namespace {

class Hash {
 public:
  void add(std::initializer_list<int64_t> values) {
    for (const int64_t value : values) hash_.mix(static_cast<uint64_t>(value));
  }
  void add(std::initializer_list<double> values) {
    for (const double value : values) hash_.mix(std::bit_cast<uint64_t>(value));
  }
  uint64_t value() const { return hash_.value(); }

 private:
  Fnv1a hash_;
};

}  // namespace

uint64_t hash_plan(const tilepost_plan_t& plan) {
  const tilepost_map_t& map = plan.map;
  const tilepost_model_t& model = plan.model;
  Hash hash;
  hash.add({int64_t{plan.pattern}, int64_t{plan.ranks}, plan.k, int64_t{plan.input},
            int64_t{plan.output}, int64_t{plan.routing}, int64_t{plan.any_m}, plan.rows_sent});
  hash.add({map.m, map.n, int64_t{map.tile_m}, int64_t{map.tile_n}, int64_t{map.cluster},
            int64_t{map.layout}, int64_t{map.division}, int64_t{map.stagger}, int64_t{map.turn},
            int64_t{map.lag}, int64_t{map.round_robin}, static_cast<int64_t>(plan.map_hash)});
  hash.add({model.start, model.wave, model.read_b, model.read_row, model.wait, model.latency,
            model.per_byte, model.tail, model.sequence_wave, model.sequence_latency,
            model.sequence_per_byte, model.slack, model.margin});
  hash.add({int64_t{model.sequence_ctas}, model.most_bytes, int64_t{plan.gemm_ctas},
            int64_t{plan.comm_ctas}, int64_t{plan.comm_lanes}, int64_t{plan.transport},
            int64_t{plan.access}, int64_t{plan.sum}, int64_t{plan.shots}, int64_t{plan.pushes},
            int64_t{plan.task_parts}, int64_t{plan.reads_own}, int64_t{plan.row_gap},
            int64_t{plan.fused}, int64_t{plan.whole_run}, int64_t{plan.consumer},
            int64_t{plan.neighbours}});
  if (plan.experts > 0) hash.add({int64_t{plan.experts}, int64_t{plan.gate}});
  if (plan.top > 0) hash.add({int64_t{plan.top}, plan.most_rows});
  // Other ranks rely on the sizes of chunks of tasks and of boxes.
  if (plan.task_parts > 0) hash.add({int64_t{plan.kernel.helper_bytes}});
  if (plan.scales != TILEPOST_SCALES_NONE) hash.add({int64_t{plan.scales}, int64_t{plan.scales_a}});
  if (plan.quantised != 0) hash.add({int64_t{plan.quantised}, int64_t{plan.scales_out}});
  if (plan.access == TILEPOST_ACCESS_TILES) hash.add({int64_t{plan.kernel.box_c.rows}});
  return hash.value();
}

}  // namespace tilepost
