// Pattern gemm, layouts of B, e4m3 and epilogues: what is planned, what is refused, and what
// verify_plan notices in wrong plans.
#include <algorithm>

#include "generator/plan/cost/predict.h"
#include "runtime/map/moved_scales.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

Spec e4m3_spec(int64_t m, int64_t n, int64_t k, Arch arch = Arch::sm_90a) {
  Spec spec = gemm_spec(m, n, k, arch);
  spec.gemm.a.value = spec.gemm.b.value = TILEPOST_E4M3;
  return spec;
}

Spec nn_spec(int64_t m, int64_t n, int64_t k, Arch arch = Arch::sm_90a) {
  Spec spec = gemm_spec(m, n, k, arch);
  spec.gemm.layout.value = TILEPOST_NN;
  return spec;
}

bool has_reason(const Plan& plan, const std::string& part) {
  for (const std::string& reason : plan.reasons)
    if (reason.find(part) != std::string::npos) return true;
  return false;
}

std::string wrong_with(Plan plan) {
  std::string text;
  for (const std::string& what : verify_plan(plan)) text += what + "\n";
  return text;
}

TEST_CASE("no GEMM is predicted faster than the tensor cores of its SMs at their highest clock") {
  constexpr double kFlopsPerClock = 4096, kMostGhz = 1.95;
  for (const int64_t m : {1, 16, 100, 256, 512, 4096})
    for (const int64_t n : {8, 128, 512, 8192})
      for (const int64_t k : {64, 8192, 32768}) {
        const Plan p = only(gemm_spec(m, n, k));
        INFO(m << "x" << n << "x" << k << " on " << p.gemm_ctas << " CTAs");
        const double least =
            2.0 * static_cast<double>(m * n * k) / (p.gemm_ctas * kFlopsPerClock * kMostGhz * 1000);
        CHECK(p.prediction.total >= least);
      }
}

TEST_CASE("a cluster asked for where only gemm_sm90_small is left is refused") {
  Spec spec = gemm_spec(16, 2048, 8192);
  spec.schedule.tile = wish(std::vector<int64_t>{16, 64});
  CHECK(only(spec).kernel.name == std::string("gemm_sm90_small"));
  spec.schedule.cluster = wish<int64_t>(2);
  CHECK(refusal(spec).find("cluster '2' leaves no kernel") != std::string::npos);
}

TEST_CASE("kernels not timed beside collectives overlap only where nothing else does") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  CHECK(only(spec).source.tunables.at("PINGPONG") == "0");
  spec = make_spec(16, 512, 64);
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  spec.schedule.tile = wish(std::vector<int64_t>{16, 64});
  CHECK(only(spec).kernel.name == std::string("gemm_sm90_small"));
}

TEST_CASE("a GEMM alone has all SMs and one group, on every architecture and layout") {
  for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90a, Arch::host})
    for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
      Spec spec = gemm_spec(8192, 8192, 2048, arch);
      spec.schedule.layout.value = layout;
      const Plan p = only(spec);
      INFO(name_of(arch) << " " << name_of(layout));
      REQUIRE(p.pattern == TILEPOST_GEMM);
      REQUIRE(p.transport == TILEPOST_TRANSPORT_NONE);
      REQUIRE(p.cuts().size() == 1);
      REQUIRE(p.comm_ctas == 0);
      const int64_t positions = static_cast<int64_t>(p.tile_map().tiles.size());
      const int64_t all = int64_t{p.sms} * p.kernel.ctas_per_sm / p.map.cluster;
      REQUIRE(p.waves == (positions + all * p.map.cluster - 1) / (all * p.map.cluster));
      if (arch == Arch::host) continue;
      REQUIRE(p.prediction.total == p.prediction.gemm);
      REQUIRE(p.prediction.sequence == p.prediction.gemm);
    }
}

TEST_CASE("the SMs of the schedule are the GEMM's") {
  Spec spec = gemm_spec(8192, 8192, 2048);
  spec.schedule.sms = wish<int64_t>(120);
  REQUIRE(only(spec).gemm_ctas == 120);
  spec.schedule.comm_sms = wish<int64_t>(16);
  REQUIRE(only(spec).gemm_ctas == 120);
}

TEST_CASE("explain and timeline of a GEMM alone speak of no collective") {
  Spec spec = gemm_spec(8192, 8192, 2048);
  spec.gemm.epilogue = {wish(TILEPOST_BIAS), wish(TILEPOST_GELU)};
  const std::string text = explain_plan(only(spec));
  INFO(text);
  REQUIRE(text.find("ollective") == std::string::npos);
  REQUIRE(text.find("AllReduce") == std::string::npos);
  REQUIRE(text.find("sum over") == std::string::npos);
  REQUIRE(text.find("then bias, gelu") != std::string::npos);
  REQUIRE(text.find("none: every rank keeps its own product") != std::string::npos);
}

TEST_CASE("an epilogue is the set of its operations") {
  Spec spec = gemm_spec(256, 256, 256);
  spec.gemm.epilogue = {wish(TILEPOST_SCALE_ROWS), wish(TILEPOST_BIAS), wish(TILEPOST_RESIDUAL)};
  const Plan p = only(spec);
  REQUIRE(p.epilogue == (TILEPOST_SCALE_ROWS | TILEPOST_BIAS | TILEPOST_RESIDUAL));
  REQUIRE(p.source.tunables.at("EPILOGUE") == std::to_string(p.epilogue));
  REQUIRE(host_twin(p).source.tunables.at("EPILOGUE") == std::to_string(p.epilogue));
}

TEST_CASE("nn takes TMA where rows of A, B and C are multiples of 16 bytes") {
  const Plan tma = only(nn_spec(1000, 2000, 1024));
  REQUIRE(tma.kernel.name == std::string("gemm_sm90"));
  REQUIRE(tma.source.tunables.at("NN") == "1");
  REQUIRE(tma.kernel.box_b.columns == 64);
  Spec spec = nn_spec(1000, 2001, 1024);
  REQUIRE(only(spec).kernel.name == std::string("gemm_sm80"));
  REQUIRE(has_reason(only(spec), "N a multiple of 8 for B of layout nn, not 2001"));
  spec.schedule.layout.value = TILEPOST_TILE;  // frees C from the rule, but not B
  REQUIRE(only(spec).kernel.name == std::string("gemm_sm80"));
  spec.gemm.layout.value = TILEPOST_TN;
  REQUIRE(only(spec).kernel.name == std::string("gemm_sm90"));
  REQUIRE(only(nn_spec(1000, 2000, 1023)).kernel.name == std::string("gemm_sm80"));
}

TEST_CASE("loads of B are as wide as its own rows allow") {
  const Plan nn = only(nn_spec(100, 2002, 1024, Arch::sm_80));
  REQUIRE(nn.source.tunables.at("LOAD_VECTOR") == "8");
  REQUIRE(nn.source.tunables.at("LOAD_VECTOR_B") == "2");
  REQUIRE(nn.source.tunables.at("STORE_VECTOR") == "2");
  const Plan tn = only(gemm_spec(100, 2002, 1028, Arch::sm_80));
  REQUIRE(tn.source.tunables.at("LOAD_VECTOR") == "4");
  REQUIRE(tn.source.tunables.at("LOAD_VECTOR_B") == "4");
  const Plan e4m3 = only(e4m3_spec(100, 2002, 1040, Arch::sm_89));
  REQUIRE(e4m3.source.tunables.at("LOAD_VECTOR") == "16");
}

TEST_CASE("e4m3 is planned where the tensor cores have it") {
  for (const Arch arch : {Arch::sm_89, Arch::sm_90a, Arch::host}) {
    const Plan p = only(e4m3_spec(4096, 4096, 4096, arch));
    REQUIRE(p.input == TILEPOST_E4M3);
    REQUIRE(p.output == TILEPOST_BF16);
    REQUIRE(p.source.tunables.at("ELEMENT") == "tilepost::DType::e4m3");
    REQUIRE(p.source.tunables.at("OUTPUT") == "tilepost::DType::bf16");
  }
  for (const Arch arch : {Arch::sm_80, Arch::sm_86}) {
    const std::string text = refusal(e4m3_spec(4096, 4096, 4096, arch));
    INFO(text);
    REQUIRE(text.find("e4m3 is not available on " + std::string(name_of(arch))) !=
            std::string::npos);
  }
}

TEST_CASE("e4m3 takes TMA where K is a multiple of 16") {
  REQUIRE(only(e4m3_spec(256, 256, 1040)).kernel.name == std::string("gemm_sm90"));
  const Plan p = only(e4m3_spec(256, 256, 1032));
  REQUIRE(p.kernel.name == std::string("gemm_sm80"));
  REQUIRE(has_reason(p, "K a multiple of 16 for e4m3, not 1032"));
  REQUIRE(p.source.tunables.at("LOAD_VECTOR") == "8");
}

TEST_CASE("precise sums of e4m3 leave out what they do not fit") {
  Spec spec = e4m3_spec(8192, 8192, 8192);
  REQUIRE(only(spec).source.tunables.at("PRECISE") == "1");
  spec.schedule.tile = wish(std::vector<int64_t>{256, 192});
  REQUIRE(refusal(spec).find("tile '256x192' is not available on sm_90a") != std::string::npos);
  spec.gemm.accumulate.value = TILEPOST_FAST;
  const Plan fast = only(spec);
  REQUIRE(fast.map.tile_n == 192);
  REQUIRE(fast.source.tunables.at("PRECISE") == "0");
}

// e4m3 with scales of blocks.
Spec scaled_spec(int64_t m, int64_t n, int64_t k, Arch arch = Arch::sm_90a) {
  Spec spec = e4m3_spec(m, n, k, arch);
  spec.gemm.scales.value = TILEPOST_SCALES_BLOCKS;
  return spec;
}

TEST_CASE("scales of blocks reach the plan and the kernel") {
  const Plan rows = only(scaled_spec(4096, 4096, 4096));
  REQUIRE(rows.scales == TILEPOST_SCALES_BLOCKS);
  REQUIRE(rows.source.tunables.at("SCALES") == "1");
  REQUIRE(rows.source.tunables.at("PRECISE") == "1");
  Spec spec = scaled_spec(16, 4096, 4096);
  spec.gemm.scales_a.value = TILEPOST_SCALES_COLUMNS;
  const Plan columns = only(spec);
  REQUIRE(columns.kernel.name == std::string("gemm_sm90_small"));
  REQUIRE(columns.source.tunables.at("SCALES") == "2");
  REQUIRE(only(e4m3_spec(4096, 4096, 4096)).source.tunables.count("SCALES") == 0);
}

TEST_CASE(
    "with scales of blocks a tile's columns lie in two blocks, and rows of A along its rows") {
  for (const int64_t m : {300, 1000, 4096, 16384})
    for (const int64_t n : {576, 2112, 4096, 7168}) {
      const Plan p = only(scaled_spec(m, n, 7168));
      const int columns = p.map.tile_n / p.source.across;
      INFO(p.map.tile_m << "x" << p.map.tile_n << " " << p.source.variant);
      REQUIRE(columns % 16 == 0);
      REQUIRE((columns <= 128 || columns == 144 || columns == 160 || columns == 192));
      REQUIRE(p.source.tunables.at("SWAP") == "0");
    }
  Spec spec = scaled_spec(8192, 8192, 8192);
  spec.schedule.tile = wish(std::vector<int64_t>{256, 128});  // not with one scale for all
  REQUIRE(only(spec).map.tile_m == 256);
  spec.schedule.tile = wish(std::vector<int64_t>{256, 192});
  REQUIRE(refusal(spec).find("tile '256x192' is not available on sm_90a") != std::string::npos);
}

// The tiles that took at most 9 % longer than the fastest on one H200, of shapes that no factor was
// fitted to.
TEST_CASE("with scales of blocks the tiles are those that were measured to be fast") {
  struct Measured {
    int64_t m, n, k;
    std::vector<std::pair<int, int>> tiles;  // rows, columns of a CTA
  };
  const Measured all[] = {
      {504, 7816, 4224, {{256, 128}, {128, 128}}},
      {4096, 7168, 4096, {{256, 128}, {128, 192}, {128, 160}}},
      {512, 2048, 7168, {{128, 64}, {64, 128}}},
      {2048, 7168, 2048, {{128, 192}, {128, 128}, {256, 128}}},
      {1500, 3072, 3072, {{192, 96}, {128, 144}}},
  };
  for (const Measured& shape : all) {
    const Plan p = only(scaled_spec(shape.m, shape.n, shape.k));
    const std::pair chosen(p.map.tile_m, p.map.tile_n / p.source.across);
    INFO(shape.m << "x" << shape.n << "x" << shape.k << ": " << p.map.tile_m << "x" << p.map.tile_n
                 << " " << p.source.variant);
    CHECK(std::ranges::find(shape.tiles, chosen) != shape.tiles.end());
    CHECK((p.map.tile_m == 64 || p.source.tunables.at("PINGPONG") == "0"));
  }
}

// Of gemm_sm90_small, of which scales of blocks made other tiles the fastest: those that took at
// most 9 % longer than the fastest on one H200.
TEST_CASE("with scales of blocks and few rows the tiles are those that were measured to be fast") {
  struct Measured {
    int64_t m, n, k;
    std::vector<std::pair<int, int>> tiles;  // columns, CTAs that share the tile
  };
  const Measured all[] = {
      {128, 24576, 1536, {{64, 1}, {128, 1}}},
      {128, 7168, 4096, {{128, 2}, {64, 1}}},
      {128, 4096, 7168, {{64, 2}}},
      {128, 2048, 7168, {{64, 3}}},
      {96, 5120, 5120, {{128, 2}}},
      {64, 7168, 4096, {{64, 1}}},
      {64, 2048, 7168, {{64, 3}}},
      {48, 7168, 2048, {{64, 1}}},
      {16, 7168, 4096, {{64, 1}}},
  };
  for (const Measured& shape : all) {
    const Plan p = only(scaled_spec(shape.m, shape.n, shape.k));
    INFO(shape.m << "x" << shape.n << "x" << shape.k << ": " << p.map.tile_m << "x" << p.map.tile_n
                 << " over " << p.source.split_k);
    CHECK(p.kernel.name == std::string("gemm_sm90_small"));
    CHECK(std::ranges::count(shape.tiles, std::pair(p.map.tile_n, p.source.split_k)) == 1);
  }
}

TEST_CASE("scales of blocks move with rows of A, by transports that move both") {
  Spec spec = scaled_spec(8192, 4096, 7168);
  spec.pattern.value = TILEPOST_ALL_GATHER_GEMM;
  spec.ranks.value = 4;
  for (const tilepost_transport_t transport :
       {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE, TILEPOST_TRANSPORT_PEER}) {
    spec.transport.value = transport;
    const Plan p = only(spec);
    REQUIRE(p.source.tunables.at("SCALES") == "1");
    REQUIRE(p.source.tunables.at("SCALES_ARRIVE") == "1");
    // A row of A has 7168 bytes, and its 56 scales have 224.
    REQUIRE(bytes_of_group(p, 0) == 2048 * (7168 + 224));
  }
  spec.transport.value = TILEPOST_TRANSPORT_NONE;
  REQUIRE(only(spec).source.tunables.count("SCALES_ARRIVE") == 0);
  spec.transport.value.reset();
  const tilepost_transport_t chosen = only(spec).planned_transport;
  REQUIRE(brings_scales(chosen));
  Plan mutant = only(spec);
  mutant.scales_a = TILEPOST_SCALES_COLUMNS;
  REQUIRE(wrong_with(mutant).find("scales in columns move with rows of A") != std::string::npos);
}

TEST_CASE("scales of blocks need rows that TMA can address") {
  REQUIRE(refusal(scaled_spec(256, 256, 1032)).find("K a multiple of 16 for e4m3, not 1032") !=
          std::string::npos);
  REQUIRE(only(scaled_spec(256, 256, 1136)).k == 1136);
  REQUIRE(only(scaled_spec(256, 250, 1032, Arch::host)).scales == TILEPOST_SCALES_BLOCKS);
}

TEST_CASE(
    "tiles that the kernel quantises have whole blocks of columns, and rows of A along theirs") {
  for (const int64_t m : {17, 300, 4096})
    for (const tilepost_pattern_t pattern : {TILEPOST_GEMM, TILEPOST_ALL_GATHER_GEMM}) {
      Spec spec = gemm_spec(m, 7168, 2048);
      spec.pattern.value = pattern;
      spec.ranks.value = pattern == TILEPOST_GEMM ? 1 : 2;
      spec.gemm.out.value = TILEPOST_E4M3;
      spec.gemm.scales_out.value = TILEPOST_SCALES_COLUMNS;
      const Plan p = only(spec);
      REQUIRE(p.quantised == 1);
      REQUIRE(p.output == TILEPOST_BF16);
      REQUIRE(p.consumer == TILEPOST_CONSUMER_NONE);
      REQUIRE(p.kernel.name == std::string("gemm_sm90"));
      REQUIRE(p.map.tile_n / p.source.across % 128 == 0);
      REQUIRE(p.source.tunables.at("SWAP") == "0");
      REQUIRE(p.source.tunables.at("QUANTISE") == "1");
      REQUIRE(p.source.tunables.at("PANEL_N") == "128");
      REQUIRE(p.kernel.box_c.columns == 128);
    }
  Spec odd = gemm_spec(256, 264, 256);
  odd.gemm.out.value = TILEPOST_E4M3;
  REQUIRE(refusal(odd).find("N a multiple of 16 for an output of e4m3, not 264") !=
          std::string::npos);
  REQUIRE(only(gemm_spec(4096, 7168, 2048)).source.tunables.count("QUANTISE") == 0);
}

TEST_CASE("a sum over ranks is quantised by a consumer, in any tile, or by the norm") {
  Spec spec = gemm_spec(4096, 7168, 2048);
  spec.pattern.value = TILEPOST_GEMM_REDUCE_SCATTER;
  spec.ranks.value = 2;
  spec.gemm.out.value = TILEPOST_E4M3;
  spec.schedule.tile = wish(std::vector<int64_t>{128, 192});
  const Plan p = only(spec);
  REQUIRE(p.consumer == TILEPOST_CONSUMER_QUANTISE);
  REQUIRE(p.source.tunables.count("QUANTISE") == 0);
  REQUIRE(p.source.tunables.at("OUTPUT") == "tilepost::DType::bf16");
  Plan unquantised = p;
  unquantised.quantised = 0;
  REQUIRE(wrong_with(unquantised).find("consumer quantise") != std::string::npos);
  spec.schedule.tile.reset();
  spec.consumer.value = TILEPOST_CONSUMER_RMS_NORM;
  REQUIRE(only(spec).consumer == TILEPOST_CONSUMER_RMS_NORM);
  REQUIRE(only(spec).quantised == 1);
}

TEST_CASE("caught: operations and types the pattern or the machine does not allow") {
  Plan p = only(gemm_spec(1000, 2000, 1024));
  REQUIRE(wrong_with(p) == "");
  p.pattern = TILEPOST_GEMM_ALL_REDUCE;
  REQUIRE(wrong_with(p) == "");
  p.epilogue = TILEPOST_GELU;
  REQUIRE(wrong_with(p).find("before a sum over ranks") != std::string::npos);
  Plan sends = only(gemm_spec(1000, 2000, 1024));
  sends.transport = TILEPOST_TRANSPORT_NCCL;
  REQUIRE(wrong_with(sends).find("nothing to send") != std::string::npos);
  Plan narrow = only(gemm_spec(1000, 2000, 1024));
  narrow.quantised = 1;  // with tiles that may have any number of columns, and boxes of bf16
  narrow.map.tile_n = 192;
  REQUIRE(wrong_with(narrow).find("of tiles with 192 columns, quantised") != std::string::npos);
  Plan old = only(gemm_spec(1000, 2000, 1024, Arch::sm_80));
  old.input = TILEPOST_E4M3;
  REQUIRE(wrong_with(old) == "e4m3 on sm_80\n");
  Plan scaled = only(scaled_spec(1000, 2000, 1024));
  REQUIRE(wrong_with(scaled) == "");
  scaled.epilogue = TILEPOST_SCALE_ROWS;
  REQUIRE(wrong_with(scaled).find("scales of blocks of e4m3 summed precise, epilogue 0x2") !=
          std::string::npos);
}

TEST_CASE("caught: tensor maps that TMA refuses") {
  const Plan right = only(gemm_spec(1000, 2000, 1024));
  const auto caught = [&](void (*mutate)(Plan&)) {
    Plan mutant = right;
    mutate(mutant);
    return !wrong_with(mutant).empty();
  };
  REQUIRE(caught([](Plan& p) { p.k = 1023; }));
  REQUIRE(caught([](Plan& p) { p.kernel.box_a.rows = 257; }));
  REQUIRE(caught([](Plan& p) { p.kernel.box_b.columns = 72; }));
  REQUIRE(caught([](Plan& p) { p.kernel.box_c.columns = 0; }));
  REQUIRE(caught([](Plan& p) { p.kernel.cluster = 5; }));
}

}  // namespace
}  // namespace tilepost::test
