// The catalogue: every configuration fits its architecture, and its sizes are those of the kernels.
#include "generator/plan/kernels/host/host.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm80/sm80.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "generator/plan/machine/profile.h"
#include "tests/catch.h"

namespace tilepost {
namespace {

const MachineProfile& kProfile = default_machine();

void require_fits(const KernelConfig& config, const ArchInfo& arch) {
  INFO(config.family->name() << " " << config.tile_m << "x" << config.tile_n << " on "
                             << name_of(arch.arch));
  REQUIRE(shared_bytes(config) <= arch.shared_per_block);
  REQUIRE((shared_bytes(config) + arch.shared_reserved) * config.ctas_per_sm <= arch.shared_per_sm);
  REQUIRE(threads(config) * config.ctas_per_sm <= arch.threads_per_sm);
  // The accumulators alone, which are fp32 sums in registers, must fit.
  REQUIRE(config.tile_m * columns_of_cta(config) * config.ctas_per_sm < arch.registers_per_sm);
}

TEST_CASE("every configuration fits its architecture") {
  for (const KernelConfig& config : sm90_block_configs())
    require_fits(config, arch_info(Arch::sm_90a));
  for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90a})
    for (const KernelConfig& config : sm80_configs(arch)) require_fits(config, arch_info(arch));
}

TEST_CASE(
    "the profile has times of every configuration, each under a name of its own, or a formula") {
  std::map<std::string, const KernelConfig*> rows;
  const auto check = [&](const std::vector<KernelConfig>& configs) {
    for (const KernelConfig& config : configs) {
      INFO(config.row);
      if (config.row == std::string("gemm_sm90")) continue;  // Sm90Profile has its times
      REQUIRE(kProfile.gemm.kernels.count(config.row) == 1);
      const KernelConfig* const same = rows.try_emplace(config.row, &config).first->second;
      REQUIRE(std::tie(same->tile_m, same->tile_n, same->tile_k) ==
              std::tie(config.tile_m, config.tile_n, config.tile_k));
      REQUIRE(same->family->threads(*same) == config.family->threads(config));
    }
  };
  check(sm90_configs());
  for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90a}) {
    check(sm80_configs(arch));
    for (const tilepost_accumulate_t accumulate : {TILEPOST_PRECISE, TILEPOST_FAST})
      check(sm80_narrow_configs(arch, accumulate));
  }
  REQUIRE(kProfile.gemm.kernels.count(small_configs(16, kProfile.gemm.in_flight_bytes)[0].row) ==
          1);
}

TEST_CASE("shared memory is what the kernels' layouts need") {
  for (const KernelConfig& config : sm90_configs())  // a row of a stage or a panel has 128 bytes
    REQUIRE(shared_bytes(config) == config.stages * (config.tile_m + columns_of_cta(config)) * 128 +
                                        sm90_shape(config).consumers * sm90_shape(config).panels *
                                            sm90_shape(config).panel_m * 128 +
                                        1024);
  REQUIRE(shared_bytes(sm80_configs(Arch::sm_80)[0]) == 3 * 384 * 64 * 2);
  // Here the staged tile of 64 x 136 x 2 bytes is larger than the pipeline of 2 x 96 x 16 x 2.
  KernelConfig config = sm80_configs(Arch::sm_80)[3];
  config.stages = 2;
  config.tile_k = 16;
  REQUIRE(shared_bytes(config) == 64 * 136 * 2);
}

TEST_CASE("a kernel whose helper warp has tasks has shared memory for them") {
  KernelRequest request;
  const KernelPlan without = make_kernel(sm90_configs()[0], request);
  request.tasks = true;
  const KernelPlan with = make_kernel(sm90_configs()[0], request);
  REQUIRE(without.kernel.helper_bytes == 0);
  REQUIRE(with.kernel.helper_bytes == 16384 + 128);
  REQUIRE(with.kernel.shared_bytes == without.kernel.shared_bytes + with.kernel.helper_bytes);
  REQUIRE(with.source.tunables.at("HELPER_BYTES") == std::to_string(with.kernel.helper_bytes));
}

TEST_CASE("tiles for helper warps leave their memory and are staged whole") {
  Plan plan;
  plan.arch = Arch::sm_90a;
  int helped = 0, shared = 0;
  for (const KernelConfig& config : sm90_configs()) {
    if (!is_for_tasks(config)) continue;
    INFO(config.tile_m << "x" << config.tile_n);
    REQUIRE(has_helper_warp(config, plan));
    REQUIRE(stages_whole_tile(config));
    REQUIRE(stores_to_peers(config));
    REQUIRE(config.stages >= 3);
    REQUIRE(sm90_shape(config).panel_n == 64);
    KernelRequest request;
    request.tasks = true;
    REQUIRE(make_kernel(config, request).kernel.shared_bytes <= 232448);
    // One more stage would not fit or would be of no use.
    KernelConfig more = config;
    ++more.stages;
    REQUIRE((config.stages == 12 || !has_helper_warp(more, plan)));
    ++helped;
    shared += config.across > 1;
  }
  REQUIRE(helped >= 11);
  REQUIRE(shared >= 5);
}

TEST_CASE("a kernel carries every tunable of its template") {
  KernelRequest request;
  request.cluster = 2;
  request.band = 16;
  request.element = request.output = TILEPOST_F16;
  const KernelPlan sm90 = make_kernel(sm90_configs()[0], request);
  REQUIRE(sm90.source.tunables ==
          std::map<std::string, std::string>{{"TILE_M", "128"},
                                             {"TILE_N", "256"},
                                             {"STAGES", "3"},
                                             {"PANELS", "4"},
                                             {"PANEL_M", "64"},
                                             {"PANEL_N", "64"},
                                             {"CONSUMERS", "2"},
                                             {"SWAP", "0"},
                                             {"CLUSTER", "2"},
                                             {"BAND", "16"},
                                             {"ELEMENT", "tilepost::DType::f16"},
                                             {"OUTPUT", "tilepost::DType::f16"},
                                             {"EPILOGUE", "0"},
                                             {"NN", "0"},
                                             {"PINGPONG", "0"},
                                             {"ROUTED", "0"},
                                             {"PRECISE", "0"},
                                             {"ADD", "0"},
                                             {"HELPER_BYTES", "0"}});
  REQUIRE(sm90.kernel.threads == 384);
  REQUIRE(sm90.kernel.launch == TILEPOST_LAUNCH_TMA);

  request.load_vector = 2;
  request.load_vector_b = 4;
  request.store_vector = 4;
  request.element = request.output = TILEPOST_BF16;
  request.operands = TILEPOST_NN;
  request.epilogue = TILEPOST_SCALE | TILEPOST_BIAS;
  const KernelPlan sm80 = make_kernel(sm80_configs(Arch::sm_86)[1], request);
  REQUIRE(sm80.source.tunables ==
          std::map<std::string, std::string>{{"TILE_M", "128"},
                                             {"TILE_N", "128"},
                                             {"TILE_K", "32"},
                                             {"STAGES", "3"},
                                             {"WARP_M", "64"},
                                             {"WARP_N", "64"},
                                             {"CTAS_PER_SM", "2"},
                                             {"LOAD_VECTOR", "2"},
                                             {"LOAD_VECTOR_B", "4"},
                                             {"STORE_VECTOR", "4"},
                                             {"BAND", "16"},
                                             {"ELEMENT", "tilepost::DType::bf16"},
                                             {"OUTPUT", "tilepost::DType::bf16"},
                                             {"EPILOGUE", "9"},
                                             {"NN", "1"},
                                             {"PRECISE", "0"}});
  REQUIRE(sm80.kernel.threads == 128);

  const KernelPlan host = make_kernel(host_config(32, 48), request);
  REQUIRE(host.source.file == "gemm_host.cpp");
  REQUIRE(host.source.tunables ==
          std::map<std::string, std::string>{{"TILE_M", "32"},
                                             {"TILE_N", "48"},
                                             {"BAND", "16"},
                                             {"ELEMENT", "tilepost::DType::bf16"},
                                             {"OUTPUT", "tilepost::DType::bf16"},
                                             {"EPILOGUE", "9"},
                                             {"NN", "1"}});
  REQUIRE(host.kernel.cluster == 1);
}

bool same(const tilepost_box_t& x, const tilepost_box_t& y) {
  return x.columns == y.columns && x.rows == y.rows && x.swizzle == y.swizzle &&
         x.promote == y.promote;
}

TEST_CASE("gemm_sm90's boxes are what it loads and stores at a time") {
  KernelRequest request;
  request.cluster = 4;
  const KernelConfig config = sm90_configs()[0];
  const KernelPlan tn = make_kernel(config, request);
  REQUIRE(same(tn.kernel.box_a, {64, config.tile_m, 128, 0}));
  REQUIRE(same(tn.kernel.box_b, {64, config.tile_n / 4, 128, 0}));
  REQUIRE(same(tn.kernel.box_c, {64, 64, 128, 0}));
  REQUIRE(tn.kernel.cluster == 4);
  request.operands = TILEPOST_NN;
  const KernelPlan nn = make_kernel(config, request);
  REQUIRE(same(nn.kernel.box_a, tn.kernel.box_a));
  REQUIRE(same(nn.kernel.box_b, {64, 16, 128, 0}));
  request.operands = TILEPOST_TN;
  request.element = TILEPOST_E4M3;
  const KernelPlan e4m3 = make_kernel(config, request);
  REQUIRE(e4m3.kernel.tile_k == 128);
  REQUIRE(same(e4m3.kernel.box_a, {128, config.tile_m, 128, 0}));
  REQUIRE(same(e4m3.kernel.box_b, {128, config.tile_n / 4, 128, 0}));
  REQUIRE(same(e4m3.kernel.box_c, tn.kernel.box_c));
  REQUIRE(e4m3.kernel.shared_bytes == tn.kernel.shared_bytes);
  REQUIRE(e4m3.source.tunables.at("PRECISE") == "1");
  request.accumulate = TILEPOST_FAST;
  REQUIRE(make_kernel(config, request).source.tunables.at("PRECISE") == "0");
}

TEST_CASE("panels divide a tile of gemm_sm90 and none reaches into the next") {
  bool narrow = false, swapped = false;
  for (const KernelConfig& config : sm90_configs()) {
    INFO(config.row);
    REQUIRE(config.tile_m % sm90_shape(config).panel_m == 0);
    const int columns = columns_of_cta(config);
    REQUIRE(columns % sm90_shape(config).panel_n == 0);
    REQUIRE(sm90_shape(config).panel_n * 2 <= 128);     // the span of the swizzle
    REQUIRE(sm90_shape(config).panel_n * 2 % 16 == 0);  // TMA moves chunks of 16 bytes
    REQUIRE(sm90_shape(config).panel_m % 8 == 0);       // the period of the swizzle
    REQUIRE((sm90_shape(config).swapped ? sm90_shape(config).panel_n
                                        : sm90_shape(config).panel_m) == 64);
    // The consumers divide the tile into instructions of 64 rows.
    const int sharers = sm90_shape(config).pingpong ? 1 : sm90_shape(config).consumers;
    REQUIRE((sm90_shape(config).swapped ? columns : config.tile_m) % (64 * sharers) == 0);
    REQUIRE((sm90_shape(config).swapped ? config.tile_m : columns) % 8 == 0);
    const KernelPlan plan = make_kernel(config, {});
    REQUIRE(
        same(plan.kernel.box_c, {sm90_shape(config).panel_n, sm90_shape(config).panel_m, 128, 0}));
    REQUIRE(plan.kernel.threads == 128 * (1 + sm90_shape(config).consumers));
    REQUIRE(signals_per_tile(config) == sharers * config.across);
    REQUIRE(plan.source.tunables.at("SWAP") == (sm90_shape(config).swapped ? "1" : "0"));
    narrow |= sm90_shape(config).panel_n < 64;
    swapped |= sm90_shape(config).swapped;
  }
  REQUIRE((narrow && swapped));
}

TEST_CASE("a B of [k, n] goes into tiles of whole slabs") {
  Plan plan;
  plan.arch = Arch::sm_90a;
  for (const KernelConfig& config : sm90_configs()) {
    plan.operands = TILEPOST_NN;
    REQUIRE(can_load(config, plan) ==
            (columns_of_cta(config) % 64 == 0 && !fills_registers(config)));
    plan.operands = TILEPOST_TN;
    REQUIRE(can_load(config, plan));
  }
}

TEST_CASE("rows of gemm_sm90 alone may fill the registers, and store where others have no helper") {
  REQUIRE(stores_to_peers(host_config(64, 64)));
  REQUIRE_FALSE(stores_to_peers(sm80_configs(Arch::sm_80).front()));
  int full = 0;
  for (const KernelConfig& config : sm90_configs()) full += fills_registers(config);
  // 256 x 192 of each of two CTAs; and 128 x 192 of two or four CTAs with consumers that take
  // turns.
  REQUIRE(full == 3);
}

TEST_CASE("routed rows are stored by gemm_sm90's cooperative rows and by gemm_sm80") {
  Plan plan;
  plan.arch = Arch::sm_90a;
  plan.map.m = plan.map.n = plan.k = 1024;
  plan.routing = TILEPOST_ROUTING_ROWS;
  REQUIRE(request_for(plan).routed);
  REQUIRE(make_kernel(sm90_configs()[0], request_for(plan)).source.tunables.at("ROUTED") == "1");
  // Each of 256 threads has room for 128 sums, or half as many where e4m3 is summed precisely.
  const auto fits = [](const KernelConfig& config, int most) {
    return !sm90_shape(config).pingpong && !sm90_shape(config).swapped &&
           sm90_shape(config).consumers == 2 && sm90_shape(config).panel_n == 64 &&
           config.across == 1 && config.tile_m * config.tile_n <= most;
  };
  for (const KernelConfig& config : sm90_configs())
    REQUIRE(can_route(config, plan) == fits(config, 128 * 256));
  Plan precise = plan;
  precise.input = TILEPOST_E4M3;
  for (const KernelConfig& config : sm90_configs())
    REQUIRE(can_route(config, precise) == fits(config, 128 * 128));
  for (const KernelConfig& config : small_configs(16, kProfile.gemm.in_flight_bytes))
    REQUIRE_FALSE(can_route(config, plan));
  for (const KernelConfig& config : sm80_configs(Arch::sm_80)) REQUIRE(can_route(config, plan));
  REQUIRE(can_route(host_config(64, 64), plan));
  plan.routing = TILEPOST_ROUTING_SPLITS;
  REQUIRE_FALSE(request_for(plan).routed);
  for (const KernelConfig& config : small_configs(16, kProfile.gemm.in_flight_bytes))
    REQUIRE(can_route(config, plan));
}

TEST_CASE("consumers that take turns post a tile once") {
  KernelConfig config = sm90_configs()[0];
  REQUIRE_FALSE(sm90_shape(config).pingpong);
  REQUIRE(signals_per_tile(config) == 2);
  Sm90Shape turns = sm90_shape(config);
  turns.pingpong = true;
  config = with_shape(config, turns);
  REQUIRE(signals_per_tile(config) == 1);
  REQUIRE(make_kernel(config, {}).source.tunables.at("PINGPONG") == "1");
}

TEST_CASE("a band is a multiple of the cluster and no more than the output needs") {
  REQUIRE(band_of(sm90_configs()[0], 2, 8192, kProfile.gemm.band_rows) == 16);
  REQUIRE(band_of(sm90_configs()[2], 2, 8192, kProfile.gemm.band_rows) == 8);
  REQUIRE(band_of(sm90_configs()[0], 4, 129, kProfile.gemm.band_rows) == 4);
  REQUIRE(band_of(sm90_configs()[0], 1, 1, kProfile.gemm.band_rows) == 1);
}

}  // namespace
}  // namespace tilepost
