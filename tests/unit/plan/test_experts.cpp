// Plans of grouped GEMMs: the kernel and its boxes, what is refused, and what the verifier finds.
#include "runtime/map/layer_programs.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

Spec experts_spec(int64_t m, int64_t n, int64_t k, Arch arch = Arch::sm_90a) {
  Spec spec = make_spec(m, n, k, arch);
  spec.pattern.value = TILEPOST_GROUPED_GEMM;
  spec.ranks.value = 1;
  spec.gemm.experts.value = 64;
  return spec;
}

Spec with_swiglu(Spec spec, tilepost_gate_t gate) {
  spec.gemm.epilogue.push_back(wish(TILEPOST_SWIGLU));
  spec.gemm.gate.value = gate;
  return spec;
}

TEST_CASE("experts have a kernel of their own, on all SMs however many rows there are") {
  for (const int64_t m : {128, 4096, 65536}) {
    const Plan whole = only(experts_spec(m, 2048, 768));
    CHECK(std::string(whole.kernel.name) == "gemm_sm90_experts");
    CHECK(whole.experts == 64);
    CHECK(whole.transport == TILEPOST_TRANSPORT_NONE);
    CHECK(whole.gemm_ctas == 132);
    CHECK(whole.prediction.total > 0);
    CHECK(whole.prediction.total < 1e6);
  }
}

TEST_CASE("a tile of gate and up has half as many columns, and boxes of one kind of rows") {
  const Plan product = only(experts_spec(4096, 1536, 2048));
  const Plan halves = only(with_swiglu(experts_spec(4096, 768, 2048), TILEPOST_GATE_HALVES));
  CHECK(halves.map.tile_n == product.map.tile_n / 2);
  CHECK(halves.kernel.box_b.rows == product.kernel.box_b.rows / 2);
  CHECK(halves.source.tunables.at("INTERLEAVED") == "0");
  const Plan pairs = only(with_swiglu(experts_spec(4096, 768, 2048), TILEPOST_GATE_INTERLEAVED));
  CHECK(pairs.source.tunables.at("INTERLEAVED") == "1");
  CHECK(host_twin(pairs).map.tile_m == pairs.map.tile_m);
  CHECK(host_twin(pairs).source.file == "gemm_host_experts.cpp");
}

TEST_CASE("consumers share tiles where K is long and experts have many rows") {
  const auto of_4 = [](int64_t m, int64_t k) {
    Spec spec = experts_spec(m, 28672, k);
    spec.gemm.experts.value = 4;
    return spec;
  };
  const Plan together = only(of_4(16384, 4096));
  CHECK(together.source.tunables.at("PINGPONG") == "0");
  CHECK((together.map.tile_m == 192 && together.map.tile_n == 256));
  CHECK((together.kernel.box_b.rows == 256 && together.kernel.cluster == 1));
  CHECK(host_twin(together).map.tile_m == 192);
  const Plan gated = only(with_swiglu(of_4(16384, 4096), TILEPOST_GATE_HALVES));
  CHECK(gated.source.tunables.at("PINGPONG") == "0");
  CHECK((gated.map.tile_n == 128 && gated.kernel.box_b.rows == 128));
  for (const Spec& spec : {of_4(16384, 2048), of_4(1024, 4096)}) {
    const Plan in_turns = only(spec);
    CHECK(in_turns.source.tunables.at("PINGPONG") == "1");
    CHECK((in_turns.map.tile_m == 192 && in_turns.map.tile_n == 256));
    CHECK(in_turns.kernel.box_b.rows == 128);
  }
}

TEST_CASE("where K is long, experts with hundreds of rows have fewer stages") {
  CHECK(only(experts_spec(64 * 512, 4096, 7168)).source.tunables.at("STAGES") == "4");
  CHECK(only(experts_spec(64 * 256, 4096, 7168)).source.tunables.at("STAGES") == "5");
  CHECK(only(experts_spec(64 * 512, 4096, 2048)).source.tunables.at("STAGES") == "5");
}

TEST_CASE("GELU leaves a tile registers for fewer rows, scales do not") {
  Spec spec = experts_spec(16384, 28672, 4096);
  spec.gemm.epilogue.push_back(wish(TILEPOST_SCALE_ROWS));
  const Plan scaled = only(spec);
  CHECK(scaled.map.tile_m == 192);
  CHECK(scaled.kernel.shared_bytes ==
        only(experts_spec(16384, 28672, 4096)).kernel.shared_bytes + 2 * (192 + 128) * 4);
  spec.gemm.epilogue.push_back(wish(TILEPOST_GELU));
  CHECK(only(spec).map.tile_m == 160);
}

TEST_CASE("consumers share tiles where sums are kept twice") {
  for (const int64_t m : {64, 4096, 65536}) {
    Spec spec = experts_spec(m, 1280, 512);
    spec.gemm.a.value = TILEPOST_E4M3;
    const Plan precise = only(spec);
    CHECK(precise.source.tunables.at("PRECISE") == "1");
    CHECK(precise.source.tunables.at("PINGPONG") == "0");
    CHECK((precise.map.tile_m == 128 && precise.map.tile_n == 256 && precise.kernel.cluster == 1));
  }
}

TEST_CASE("what kernels of experts cannot do is refused, with the reason") {
  CHECK_THAT(refusal(experts_spec(4096, 2048, 768, Arch::sm_80)),
             Catch::Contains("has no kernel for sm_80: its kernels are for sm_90a"));
  CHECK_THAT(refusal(experts_spec(4096, 2048, 764)),
             Catch::Contains("TMA needs gemm.k a multiple of 8, not 764"));
  CHECK_THAT(refusal(experts_spec(4096, 2044, 768)),
             Catch::Contains("TMA needs gemm.n a multiple of 8, not 2044"));
  CHECK_THAT(refusal(with_swiglu(experts_spec(4096, 768, 72), TILEPOST_GATE_INTERLEAVED)),
             Catch::Contains("gemm.k must be a multiple of 64, not 72"));
  Spec spec = experts_spec(4096, 2048, 768);
  spec.schedule.cluster = wish<int64_t>(2);
  CHECK_THAT(refusal(spec), Catch::Contains("cluster '2' is not available"));
  spec = experts_spec(4096, 2048, 768);
  spec.schedule.tile = wish(std::vector<int64_t>{100, 256});
  CHECK_THAT(refusal(spec), Catch::Contains("tiles have a multiple of 16 rows"));
}

TEST_CASE("the verifier finds experts that do not fit the rest of the plan") {
  const Plan right = only(experts_spec(4096, 2048, 768));
  CHECK(said_of(right, [](Plan& plan) { plan.experts = 0; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.experts = 513; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.epilogue = TILEPOST_RESIDUAL; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.epilogue = TILEPOST_SWIGLU | TILEPOST_BILINEAR; }) !=
        "");
  const Plan nn = [] {
    Spec spec = experts_spec(4096, 2048, 768);
    spec.gemm.layout.value = TILEPOST_NN;
    return only(spec);
  }();
  CHECK(said_of(nn, [](Plan& plan) { plan.k = 760; }) != "");
  CHECK(said_of(only(gemm_spec(4096, 2048, 768)), [](Plan& plan) { plan.experts = 8; }) != "");
}

// ---- Tokens that go to experts

Spec tokens_spec(int64_t m, int64_t n, int64_t k, Arch arch = Arch::sm_90a) {
  Spec spec = experts_spec(m, n, k, arch);
  spec.pattern.value = TILEPOST_DISPATCH_GROUPED_GEMM;
  spec.ranks.value = 2;
  spec.gemm.experts.value = 128;
  spec.gemm.top.value = 8;
  return spec;
}

TEST_CASE("tokens are copied while their experts multiply, and CTAs share B") {
  const Plan plan = only(with_swiglu(tokens_spec(16384, 768, 2048), TILEPOST_GATE_HALVES));
  CHECK(plan.planned_transport == TILEPOST_TRANSPORT_COPY_ENGINE);
  CHECK(plan.reads_own == 1);
  CHECK(plan.experts == 64);
  CHECK(plan.most_rows == 131072);
  CHECK(plan.source.tunables.at("DOWN") == "2");
  CHECK(plan.source.tunables.at("GATHERS") == "1");
  CHECK(plan.map.division == TILEPOST_DIVISION_ARRIVALS);
  CHECK(plan.map.num_groups > 1);
  CHECK(host_twin(plan).source.file == "gemm_host_experts.cpp");
}

TEST_CASE("consumers share tiles of tokens where K is long") {
  const auto sharers = [](int64_t m, int64_t k) {
    const Plan plan = only(with_swiglu(tokens_spec(m, 768, k), TILEPOST_GATE_HALVES));
    const int ctas = plan.source.tunables.at("DOWN") == "2" ? 2 : 1;
    return std::pair(plan.source.tunables.at("PINGPONG") == "0", plan.map.tile_m / ctas);
  };
  CHECK(sharers(16384, 4096) == std::pair(true, 144));
  CHECK(sharers(16384, 2048) == std::pair(false, 160));
  CHECK(sharers(1024, 4096) == std::pair(false, 160));
}

TEST_CASE("experts with rows for one CTA share nothing, and a program for any m has both kernels") {
  const Plan few = only(with_swiglu(tokens_spec(1024, 768, 2048), TILEPOST_GATE_HALVES));
  CHECK(few.source.tunables.at("DOWN") == "1");
  CHECK(few.source.tunables.at("GATHERS") == "1");
  CHECK(few.kernel.cluster == 1);
  Spec spec = with_swiglu(tokens_spec(16384, 768, 2048), TILEPOST_GATE_HALVES);
  spec.gemm.any_m = true;
  spec.schedule.kernels.reset();  // as many as are worth it
  CHECK(plan(spec).plans.size() == 2);
}

TEST_CASE("tokens go to experts by stores, by copies, by messages, or all before the GEMM") {
  for (const tilepost_transport_t transport :
       {TILEPOST_TRANSPORT_NONE, TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE,
        TILEPOST_TRANSPORT_PEER})
    for (const int64_t m : {2, 129, 4096, 32768}) {
      Spec spec = tokens_spec(m, 768, 2048);
      spec.transport.value = transport;
      INFO(m << " tokens, " << name_of(transport));
      const Plan plan = only(spec);
      CHECK(plan.planned_transport == transport);
      CHECK(plan.map.num_groups <= 32);
    }
}

Spec pushed_spec(int64_t m, Arch arch = Arch::sm_90a) {
  Spec spec = tokens_spec(m, 768, 2048, arch);
  spec.transport.value = TILEPOST_TRANSPORT_PEER;
  return spec;
}

TEST_CASE("tokens are pushed in front of the GEMM, which has all SMs and reads its own in a") {
  const Plan pushed = only(pushed_spec(128));
  CHECK(pushed.access == TILEPOST_ACCESS_WRITE);
  CHECK((pushed.pushes == 1 && pushed.reads_own == 1));
  CHECK((pushed.comm_ctas == 0 && pushed.task_parts == 0 && pushed.whole_run == 0));
  CHECK(pushed.gemm_ctas == 132);
  const RunPath path = paths_of(pushed).planned;
  CHECK((path.pushes_tokens && path.kernel_does_all && path.leaves_own_rows()));
  CHECK_FALSE(path.begins_on_comm_stream());
  CHECK(path.places_of_rows() == 1);
  const Plan twin = host_twin(pushed);
  CHECK((twin.access == TILEPOST_ACCESS_WRITE && twin.reads_own == 0));
  CHECK(verify_plan(twin).empty());
  CHECK(only(pushed_spec(128, Arch::host)).reads_own == 0);
}

TEST_CASE("few tokens are pushed and many are copied, by one program for any m too") {
  const auto auto_of = [](int64_t m) {
    return with_swiglu(tokens_spec(m, 768, 2048), TILEPOST_GATE_HALVES);
  };
  CHECK(only(auto_of(128)).planned_transport == TILEPOST_TRANSPORT_PEER);
  CHECK(only(auto_of(16384)).planned_transport == TILEPOST_TRANSPORT_COPY_ENGINE);
  Spec spec = auto_of(16384);
  spec.gemm.any_m = true;
  spec.schedule.kernels.reset();
  const Planned planned = plan(spec);
  INFO(planned.messages);
  REQUIRE(planned.plans.size() > 1);
  CHECK(planned.plans.front().planned_transport == TILEPOST_TRANSPORT_COPY_ENGINE);
  CHECK(planned.plans.back().planned_transport == TILEPOST_TRANSPORT_PEER);
  spec = auto_of(128);
  spec.schedule.comm_sms = wish(int64_t{4});
  CHECK(only(spec).planned_transport != TILEPOST_TRANSPORT_PEER);
}

TEST_CASE("more ranks than one host has GPUs push no tokens") {
  Spec spec = pushed_spec(128);
  spec.ranks.value = 16;
  CHECK_THAT(refusal(spec), Catch::Contains("gathers A over at most 8 ranks"));
  spec.transport.value.reset();
  CHECK(only(spec).planned_transport != TILEPOST_TRANSPORT_PEER);
}

TEST_CASE("the verifier finds pushed tokens that do not fit the rest of the plan") {
  const Plan right = only(pushed_spec(128));
  CHECK(said_of(right, [](Plan& plan) { plan.reads_own = 0; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.pushes = 0; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.task_parts = 1; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.whole_run = 1; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.map.round_robin = 1; }) != "");
}

// ---- Sums of tokens

Spec sums_spec(int64_t m, int64_t n, int64_t k, Arch arch = Arch::sm_90a) {
  Spec spec = tokens_spec(m, n, k, arch);
  spec.pattern.value = TILEPOST_GROUPED_GEMM_COMBINE;
  return spec;
}

TEST_CASE("ranks that reach each other's memory sum tokens by it, however long the GEMM takes") {
  Spec spec = sums_spec(16384, 4096, 14336);
  spec.gemm.experts.value = 8;
  spec.gemm.top.value = 2;
  CHECK(only(spec).planned_transport == TILEPOST_TRANSPORT_PEER);
}

TEST_CASE("tokens are summed behind the GEMM, which has all SMs") {
  Spec spec = sums_spec(16384, 2048, 768);
  spec.transport.value = TILEPOST_TRANSPORT_PEER;
  const Plan plan = only(spec);
  CHECK(plan.access == TILEPOST_ACCESS_WRITE);
  CHECK(plan.comm_ctas == 0);
  CHECK(plan.gemm_ctas == 132);
  CHECK(plan.task_parts == 0);
  CHECK(plan.most_rows == 131072);
  CHECK(plan.source.tunables.at("GATHERS") == "0");
  CHECK(host_twin(plan).source.file == "gemm_host_experts.cpp");
}

TEST_CASE("sums of tokens go home by stores, by copies, by messages, or all behind the GEMM") {
  for (const tilepost_transport_t transport :
       {TILEPOST_TRANSPORT_NONE, TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE,
        TILEPOST_TRANSPORT_PEER})
    for (const int64_t m : {2, 129, 4096, 32768}) {
      Spec spec = sums_spec(m, 2048, 768);
      spec.transport.value = transport;
      INFO(m << " tokens, " << name_of(transport));
      const Plan plan = only(spec);
      CHECK(plan.planned_transport == transport);
    }
}

TEST_CASE("on GPUs a bound on rows whose sums go home takes peer, or is refused with the reason") {
  Spec spec = sums_spec(16384, 2048, 768);
  spec.max_rows = wish(int64_t{100000});
  const Plan bounded = only(spec);
  CHECK(bounded.planned_transport == TILEPOST_TRANSPORT_PEER);
  CHECK(bounded.most_rows == 100000);
  CHECK(bounded.model.sequence_ctas == 0);
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  CHECK(refusal(spec).find("transport 'nccl' would write the output of a run that has too many "
                           "rows; use 'peer', or remove max_rows") != std::string::npos);
  spec.archs.value = {Arch::host};
  CHECK(only(spec).planned_transport == TILEPOST_TRANSPORT_NCCL);
}

TEST_CASE("a bound that takes peer is refused where peer is") {
  Spec spec = sums_spec(16384, 2048, 768);
  spec.max_rows = wish(int64_t{100000});
  SECTION("a rank alone") {
    spec.ranks.value = 1;
    CHECK(refusal(spec).find("transport 'peer' is for 2 or more GPUs") != std::string::npos);
    spec.archs.value = {Arch::host};
    CHECK(only(spec).planned_transport != TILEPOST_TRANSPORT_PEER);
  }
  SECTION("more ranks than there are flags for") {
    spec.ranks.value = 16;
    CHECK(refusal(spec).find("sums tokens for at most 8") != std::string::npos);
  }
  SECTION("SMs for communication") {
    spec.schedule.comm_sms = wish(int64_t{4});
    CHECK(refusal(spec).find("schedule.comm_sms is not possible") != std::string::npos);
  }
}

TEST_CASE("SMs for communication leave sums of tokens to other transports than peer") {
  Spec spec = sums_spec(16384, 2048, 768);
  spec.schedule.comm_sms = wish(int64_t{4});
  CHECK(only(spec).planned_transport != TILEPOST_TRANSPORT_PEER);
}

TEST_CASE("sums at home are for the ranks that have flags") {
  Spec spec = sums_spec(16384, 2048, 768);
  spec.ranks.value = 16;
  CHECK(only(spec).planned_transport != TILEPOST_TRANSPORT_PEER);
}

TEST_CASE("a residual of tokens is not the kernel's") {
  Spec spec = sums_spec(4096, 2048, 768);
  spec.gemm.epilogue.push_back({TILEPOST_BIAS, {}});
  spec.gemm.epilogue.push_back({TILEPOST_RESIDUAL, {}});
  const Plan plan = only(spec);
  CHECK(plan.epilogue == (TILEPOST_BIAS | TILEPOST_RESIDUAL));
  CHECK(plan.source.tunables.at("EPILOGUE") == std::to_string(TILEPOST_BIAS));
}

TEST_CASE("the verifier finds sums of tokens that do not fit the rest of the plan") {
  Spec spec = sums_spec(4096, 2048, 768);
  spec.transport.value = TILEPOST_TRANSPORT_PEER;
  const Plan right = only(spec);
  CHECK(said_of(right, [](Plan& plan) { plan.top = 0; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.most_rows = plan.map.m * plan.top + 1; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.row_gap = 64; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.sum = TILEPOST_SUM_ADDED; }) != "");
}

TEST_CASE("the verifier finds tokens that do not fit the rest of the plan") {
  const Plan right = only(tokens_spec(4096, 2048, 768));
  CHECK(said_of(right, [](Plan& plan) { plan.top = 0; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.top = 33; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.most_rows = 0; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.most_rows = plan.map.m * plan.top + 1; }) != "");
  CHECK(said_of(right, [](Plan& plan) { plan.epilogue = TILEPOST_SCALE_ROWS; }) != "");
  CHECK(said_of(only(experts_spec(4096, 2048, 768)), [](Plan& plan) { plan.top = 2; }) != "");
}

Spec layer_spec(Arch arch) {
  Spec spec = make_spec(16384, 768, 2048, arch);
  spec.pattern.value = TILEPOST_DISPATCH_GROUPED_GEMM;
  spec.layer.emplace().residual = wish(TILEPOST_RESIDUAL);
  spec.ranks.value = 2;
  spec.gemm.any_m = true;
  spec.gemm.experts.value = 128;
  spec.gemm.top.value = 8;
  spec.gemm.epilogue.push_back(wish(TILEPOST_SWIGLU));
  return spec;
}

TEST_CASE("the plans of a layer are those of its first half, then those of its second") {
  for (const Arch arch : {Arch::sm_90a, Arch::host}) {
    const Planned planned = plan(layer_spec(arch));
    INFO(planned.messages);
    REQUIRE(planned.plans.size() == 2);
    const Plan &first = planned.plans[0], &second = planned.plans[1];
    CHECK((first.half == Half::first && second.half == Half::second));
    CHECK(first.pattern == TILEPOST_DISPATCH_GROUPED_GEMM);
    CHECK(second.pattern == TILEPOST_GROUPED_GEMM_COMBINE);
    CHECK((first.map.n == second.k && second.map.n == first.k));
    CHECK((first.epilogue == TILEPOST_SWIGLU && second.epilogue == TILEPOST_RESIDUAL));
    const std::string text = explain_plans(planned.plans);
    CHECK_THAT(text, Catch::StartsWith("attn_out: moe on "));
    CHECK_THAT(text, Catch::Contains("192.0 MiB between the halves at the worst routing"));
    CHECK_THAT(text, Catch::Contains(", the second half\n"));
  }
}

TEST_CASE("the first half of a layer may have several kernels, each for a range of m") {
  Spec spec = layer_spec(Arch::sm_90a);
  spec.schedule.kernels.reset();
  const Planned planned = plan(spec);
  INFO(planned.messages);
  REQUIRE(planned.plans.size() > 2);
  std::vector<tilepost_plan_t> plans(planned.plans.begin(), planned.plans.end());
  const tilepost_program_t program{TILEPOST_ABI_VERSION, "layer",
                                   static_cast<int32_t>(plans.size()), plans.data()};
  REQUIRE(is_layer(program));
  const LayerPrograms halves(program);
  CHECK(halves.first().num_plans > 1);
  CHECK(halves.first().num_plans + halves.second().num_plans == program.num_plans);
  for (int i = 0; i < program.num_plans; ++i) {
    const Half half = i < halves.first().num_plans ? Half::first : Half::second;
    CHECK(planned.plans[i].half == half);
  }
}

TEST_CASE("a layer of which one half has no plan has none") {
  Spec spec = layer_spec(Arch::sm_90a);
  spec.gemm.n.value = 772;  // rows of the second half's A are no multiple of 16 bytes
  const std::string text = refusal(spec);
  CHECK_THAT(text, Catch::Contains("pattern 'moe' has no kernel for sm_90a"));
  CHECK_THAT(text, Catch::Contains("772"));
}

}  // namespace
}  // namespace tilepost::test
