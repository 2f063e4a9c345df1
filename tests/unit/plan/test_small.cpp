// gemm_sm90_small in the catalogue and in plans: when it is offered, and how its CTAs share tiles.
#include "generator/plan/kernels/host/host.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm80/sm80.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

const int64_t kInFlight = default_machine().gemm.in_flight_bytes;

Spec small_spec(int64_t m, int64_t n, int64_t k) {
  Spec spec = make_spec(m, n, k);
  spec.pattern.value = TILEPOST_GEMM;
  return spec;
}

KernelConfig find(const std::vector<KernelConfig>& configs, int tile_n, int split_k) {
  for (const KernelConfig& config : configs)
    if (config.tile_n == tile_n && config.split_k == split_k) return config;
  FAIL("no row of " << tile_n << " columns over " << split_k << " CTAs");
  return configs.front();
}

TEST_CASE("every height gets rows that fit, as tall as it needs") {
  for (int64_t m = 1; m <= kMostExchangedRows; ++m) {
    const std::vector<KernelConfig> configs = small_configs(m, kInFlight);
    REQUIRE_FALSE(configs.empty());
    for (const KernelConfig& config : configs) {
      INFO(m << " rows: " << config.tile_m << "x" << config.tile_n << " over " << config.split_k);
      REQUIRE((config.tile_m == 8 || (config.tile_m % 16 == 0 && config.tile_m <= 256)));
      const int64_t tile_rows = (m + config.tile_m - 1) / config.tile_m;
      if (config.tile_m <= 128) REQUIRE(tile_rows == (m + 127) / 128);
      REQUIRE(tile_rows >= (m + 255) / 256);
      REQUIRE(config.stages >= (config.tile_m <= 128 ? 2 : 3));
      REQUIRE(shared_bytes(config) <= arch_info(Arch::sm_90a).shared_per_block);
    }
  }
  REQUIRE(small_configs(kMostExchangedRows + 1, kInFlight).empty());
}

// The template's numbers for rows that were measured.
TEST_CASE("stages and shared memory are what the template takes") {
  const KernelConfig short_tile = find(small_configs(16, kInFlight), 64, 1);
  REQUIRE(short_tile.tile_m == 16);
  REQUIRE(short_tile.stages == 10);
  REQUIRE(shared_bytes(short_tile) == 10 * 2 * 80 * 128 + 16 * 128 + 1024);
  REQUIRE(threads(short_tile) == 192);
  const KernelConfig shared_tile = find(small_configs(128, kInFlight), 128, 2);
  REQUIRE(shared_tile.stages == 5);
  REQUIRE(shared_bytes(shared_tile) == 5 * 256 * 128 + 2 * (64 * 128 + 8 * 2048) + 1024);
  REQUIRE(threads(shared_tile) == 320);
}

// A stage has 128 more scales of A, or 32, and one of B for each block along k, in whole lines.
TEST_CASE("stages have room for scales of blocks") {
  const KernelConfig tall = find(small_configs(128, kInFlight, true), 128, 1);
  REQUIRE(tall.stages == find(small_configs(128, kInFlight), 128, 1).stages - 1);
  REQUIRE(shared_bytes(tall) == 5 * (256 * 128 + 640) + 2 * 128 * 128 + 1024);
  const KernelConfig low = find(small_configs(32, kInFlight, true), 64, 1);
  REQUIRE(shared_bytes(low) == low.stages * (2 * 96 * 128 + 384) + 32 * 128 + 1024);
  for (int64_t m = 1; m <= kMostExchangedRows; ++m)
    for (const KernelConfig& config : small_configs(m, kInFlight, true)) {
      INFO(m << " rows: " << config.tile_m << "x" << config.tile_n << " over " << config.split_k);
      REQUIRE(config.stages >= 2);
      REQUIRE(shared_bytes(config) % 128 == 0);
      REQUIRE(shared_bytes(config) <= arch_info(Arch::sm_90a).shared_per_block);
    }
}

TEST_CASE("many rows get taller tiles too, each height once") {
  const auto heights = [](int64_t m) {
    std::vector<std::pair<int, int>> found;  // heights, and how many CTAs share a tile
    for (const KernelConfig& config : small_configs(m, kInFlight))
      if (config.tile_m > 128 || m > 128) found.emplace_back(config.tile_m, config.split_k);
    return found;
  };
  using Heights = std::vector<std::pair<int, int>>;
  REQUIRE(heights(128).empty());
  REQUIRE(heights(130) == Heights{{80, 1}, {80, 2}, {80, 4}, {144, 1}, {144, 2}});
  // 256 rows with 2 CTAs do not fit.
  REQUIRE(heights(256) == Heights{{128, 1}, {128, 2}, {128, 4}, {256, 1}});
  REQUIRE(heights(512) == Heights{{128, 1}, {128, 2}, {128, 4}, {176, 1}, {176, 2}, {256, 1}});
}

// An SM has registers for twelve warps with 168 each, or for sixteen with 128.
TEST_CASE("the tallest tiles have two helper warps, and none more sums than registers") {
  KernelRequest request;
  request.shots = TILEPOST_ONE_SHOT;
  request.ranks = 2;
  Plan plan;
  plan.input = TILEPOST_E4M3;
  for (const int64_t m : {128, 160, 512})
    for (const KernelConfig& config : small_configs(m, kInFlight)) {
      if (config.tile_n == 64) continue;  // such a tile has one consumer
      const bool tall = config.tile_m > 128;
      INFO(config.tile_m << " rows");
      const KernelPlan kernel = make_kernel(config, request);
      plan.epilogue = 0;
      plan.accumulate = TILEPOST_PRECISE;
      REQUIRE(can_sum(config, plan) == !tall);
      plan.accumulate = TILEPOST_FAST;
      REQUIRE(can_sum(config, plan));
      const bool two = config.tile_m > 176;
      REQUIRE(kernel.source.tunables.at("HELPER_WARPS") == (two ? "2" : "4"));
      REQUIRE(kernel.kernel.threads == (two ? 384 : 448));
      plan.epilogue = TILEPOST_GELU;
      REQUIRE(can_sum(config, plan) == !tall);
    }
}

TEST_CASE("the power limit bounds tiles of more than 128 rows, others do not come to it") {
  MachineProfile unbounded = default_machine();
  unbounded.gemm.kernels.at("gemm_sm90_small").most_ghz = 0;
  const auto computed = [](int64_t tile_m, tilepost_dtype_t input, const MachineProfile& profile) {
    Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER_TILES, 1024, 7168);
    spec.gemm.a.value = spec.gemm.b.value = input;
    spec.gemm.accumulate.value = TILEPOST_FAST;
    spec.schedule.tile = wish(std::vector<int64_t>{tile_m, 128});
    const Planned planned = plan(spec, profile);
    REQUIRE(planned.plans.size() == 1);
    return planned.plans.front().prediction.gemm;
  };
  for (const tilepost_dtype_t input : {TILEPOST_BF16, TILEPOST_E4M3}) {
    const auto by = [&](int64_t tile_m, const MachineProfile& profile) {
      return computed(tile_m, input, profile);
    };
    CHECK(by(128, default_machine()) == by(128, unbounded));
    CHECK(by(256, default_machine()) > 1.1 * by(256, unbounded));
    CHECK(by(256, default_machine()) < by(128, default_machine()));
  }
}

TEST_CASE("a row's tunables, boxes and signals") {
  KernelRequest request;
  request.element = TILEPOST_E4M3;
  const KernelConfig config =
      find(small_configs(40, kInFlight), 64, 3);  // 48 rows: 6 units for 3 CTAs
  const KernelPlan e4m3 = make_kernel(config, request);
  REQUIRE(e4m3.source.file == "gemm_sm90_small.cu");
  REQUIRE(e4m3.kernel.launch == TILEPOST_LAUNCH_TMA);
  REQUIRE(e4m3.kernel.early);
  REQUIRE(e4m3.kernel.cluster == 3);
  REQUIRE(signals_per_tile(config) == 3);
  REQUIRE(e4m3.kernel.tile_k == 256);
  REQUIRE(e4m3.kernel.box_a.columns == 128);
  REQUIRE(e4m3.kernel.box_a.rows == 48);
  REQUIRE(e4m3.kernel.box_b.rows == 64);
  REQUIRE(e4m3.kernel.box_c.columns == 64);
  REQUIRE(e4m3.kernel.box_c.rows == 16);
  REQUIRE(e4m3.source.tunables ==
          std::map<std::string, std::string>{{"TILE_M", "48"},
                                             {"TILE_N", "64"},
                                             {"STAGES", std::to_string(config.stages)},
                                             {"SPLIT_K", "3"},
                                             {"BAND", "1"},
                                             {"ELEMENT", "tilepost::DType::e4m3"},
                                             {"OUTPUT", "tilepost::DType::bf16"},
                                             {"EPILOGUE", "0"},
                                             {"NN", "0"},
                                             {"PRECISE", "1"}});
  request.element = TILEPOST_BF16;
  request.operands = TILEPOST_NN;
  const KernelPlan nn = make_kernel(find(small_configs(40, kInFlight), 64, 4), request);
  REQUIRE(nn.kernel.box_b.columns == 64);
  REQUIRE(nn.kernel.box_b.rows == 64);
  REQUIRE(nn.kernel.box_c.rows == 8);  // 6 units for 4 CTAs: one at a time
}

TEST_CASE("few rows take the kernel made for them, many do not") {
  REQUIRE(only(small_spec(16, 8192, 8192)).kernel.name == std::string("gemm_sm90_small"));
  REQUIRE(only(small_spec(64, 8192, 8192)).kernel.name == std::string("gemm_sm90_small"));
  REQUIRE(only(small_spec(512, 8192, 8192)).kernel.name == std::string("gemm_sm90"));
  // TMA cannot address it.
  REQUIRE(only(small_spec(16, 8192, 8191)).kernel.name == std::string("gemm_sm80"));
  Spec clusters = small_spec(16, 8192, 8192);
  clusters.schedule.cluster = wish<int64_t>(2);
  REQUIRE(only(clusters).kernel.name == std::string("gemm_sm90"));
}

TEST_CASE("too few columns for the SMs: several CTAs share a tile") {
  const Plan p = only(small_spec(16, 2048, 8192));
  REQUIRE(p.source.split_k > 1);
  REQUIRE(p.gemm_ctas == p.at_once() * p.source.split_k);
  REQUIRE(p.gemm_ctas <= p.sms);
  REQUIRE(p.waves == 1);
  REQUIRE(p.tile_map().groups[0].target == p.tile_map().tiles.size() * p.source.split_k);
  const Plan twin = host_twin(p);
  REQUIRE(twin.source.split_k == 1);
  REQUIRE(twin.waves == p.waves);
  REQUIRE(verify_plan(twin).empty());
}

TEST_CASE("every small problem gets a right plan, in both layouts and patterns") {
  for (const int64_t m : {1, 7, 8, 9, 33, 64, 65, 100, 128, 129, 200, 255, 256})
    for (const int64_t n : {8, 64, 200, 2048, 8192})
      for (const int64_t k : {8, 64, 520, 8192})
        for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE})
          for (const tilepost_pattern_t pattern : {TILEPOST_GEMM, TILEPOST_GEMM_ALL_REDUCE}) {
            Spec spec = make_spec(m, n, k);
            spec.pattern.value = pattern;
            spec.schedule.layout.value = layout;
            INFO(m << "x" << n << "x" << k << " " << name_of(layout) << " " << name_of(pattern));
            REQUIRE(verify_plan(host_twin(only(spec))).empty());  // only() has verified the plan
          }
}

// A kernel that exchanges no tiles stores all rows that a CTA has at once, even if a share ends
// among them. Its tensor map must not have boxes of fewer rows.
TEST_CASE("boxes of C are what the kernel stores, wherever shares end") {
  int found = 0;
  for (const tilepost_pattern_t pattern : {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL})
    for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE})
      for (const tilepost_transport_t transport :
           {TILEPOST_TRANSPORT_NONE, TILEPOST_TRANSPORT_NCCL})
        for (const int ranks : {1, 2, 3, 8})
          for (const int64_t m : {1, 8, 17, 24, 31, 40, 100, 128, 131, 256}) {
            Spec spec = make_spec(m, 200, 64);
            spec.pattern.value = pattern;
            spec.ranks.value = ranks;
            spec.transport.value = transport;
            spec.schedule.layout.value = layout;
            const Plan p = only(spec);
            if (p.kernel.name != std::string("gemm_sm90_small")) continue;
            ++found;
            INFO(name_of(pattern) << " " << name_of(layout) << " " << m << " rows, " << ranks
                                  << " ranks");
            const int ctas = p.source.split_k, units = p.map.tile_m / 8;
            REQUIRE(p.kernel.box_c.rows == (units % ctas == 0 ? p.map.tile_m / ctas : 8));
          }
  REQUIRE(found > 100);
}

TEST_CASE("caught: boxes of fewer or more rows than the kernel stores") {
  Spec spec = make_spec(24, 200, 64);
  spec.pattern.value = TILEPOST_GEMM_REDUCE_SCATTER;
  spec.ranks.value = 1;
  const Plan p = only(spec);
  REQUIRE(p.kernel.name == std::string("gemm_sm90_small"));
  for (const int rows : {p.kernel.box_c.rows / 2, p.kernel.box_c.rows * 2})
    REQUIRE(said_of(p, [&](Plan& q) {
              q.kernel.box_c.rows = rows;
            }).find("rows of a tile at once") != std::string::npos);
  REQUIRE_FALSE(said_of(p, [](Plan& q) {
                  q.source.tunables["BOX_M"] = std::to_string(q.map.tile_m * 2);
                }).empty());
}

// A product of few tiles. L2 could not deliver operands for one CTA for each tile.
TEST_CASE("CTAs have a tile's columns side by side") {
  const Plan p = only(small_spec(606, 3112, 5992));
  const int across = p.source.across;
  REQUIRE(across > 1);
  REQUIRE(p.kernel.cluster == p.map.cluster * across);
  REQUIRE(p.kernel.cluster <= 8);
  REQUIRE(p.gemm_ctas == p.at_once() * across);
  REQUIRE(p.gemm_ctas % p.kernel.cluster == 0);
  REQUIRE(p.kernel.box_a.rows * across == p.map.tile_m);
  REQUIRE(p.kernel.box_a.rows % 8 == 0);
  REQUIRE(p.kernel.box_b.rows * across * p.map.cluster == p.map.tile_n);
  REQUIRE(p.map.signals_per_tile % across == 0);
  REQUIRE(p.tile_map().groups[0].target == p.tile_map().tiles.size() * p.map.signals_per_tile);
  const Plan twin = host_twin(p);
  REQUIRE(twin.gemm_ctas == p.at_once());
  REQUIRE(verify_plan(twin).empty());
}

TEST_CASE("rows of several CTAs cluster, load and sum within the hardware's bounds") {
  int found = 0;
  for (const KernelConfig& config : sm90_configs()) {
    if (config.across == 1) continue;
    INFO(config.row);
    ++found;
    REQUIRE(config.tile_m % (8 * config.across) == 0);
    REQUIRE(columns_of_cta(config) * config.across == config.tile_n);
    REQUIRE(shared_bytes(config) <= arch_info(Arch::sm_90a).shared_per_block);
    REQUIRE(fits_cluster(config, 8 / config.across));
    REQUIRE_FALSE(fits_cluster(config, 16 / config.across));
    REQUIRE(config.row == std::string("gemm_sm90"));  // Sm90Profile has its times
  }
  REQUIRE(found > 0);
}

TEST_CASE("caught: CTAs of a tile that are no cluster, or a grid that splits a tile") {
  Plan p = only(small_spec(16, 2048, 8192));
  p.kernel.cluster = p.source.split_k + 1;
  REQUIRE_FALSE(verify_plan(p).empty());
  p = only(small_spec(16, 2048, 8192));
  ++p.gemm_ctas;
  REQUIRE_FALSE(verify_plan(p).empty());
  p = only(small_spec(606, 3112, 5992));
  p.source.across *= 3;
  REQUIRE_FALSE(verify_plan(p).empty());
}

}  // namespace
}  // namespace tilepost::test
