// The errors for specs that the planner cannot serve name the value, the bound and a way out.
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

void check_says(const std::string& text, const std::vector<std::string>& words) {
  INFO(text);
  for (const std::string& word : words) {
    INFO("expected: " << word);
    CHECK(text.find(word) != std::string::npos);
  }
}

TEST_CASE("a tile no kernel has") {
  Spec spec = make_spec(4096, 4096, 1024);
  spec.schedule.tile = wish(std::vector<int64_t>{100, 64});
  const std::string text = refusal(spec);
  check_says(text, {"tile '100x64' is not available on sm_90a"});
  check_says(text, {"tiles the nearest are 104x64 (9 stages), ", "112x128 (7 or 9 stages)"});
  CHECK(text.find("256x128") == std::string::npos);
  check_says(text, {"cluster of 1, 2 or 4"});
}

TEST_CASE("a tile only gemm_sm90 has, where K rules it out") {
  Spec spec = make_spec(4096, 4096, 1023);
  spec.schedule.tile = wish(std::vector<int64_t>{128, 192});
  check_says(refusal(spec), {"gemm_sm90 needs K a multiple of 8, not 1023"});
}

TEST_CASE("more stages than shared memory holds") {
  Spec spec = make_spec(4096, 4096, 1024);
  spec.schedule.tile = wish(std::vector<int64_t>{256, 128});
  spec.schedule.stages = wish<int64_t>(5);
  check_says(refusal(spec), {"5 stages of tile 256x128 need 279552 bytes", "232448"});
  spec.schedule.stages = wish<int64_t>(1);
  check_says(refusal(spec), {"at least 2"});
}

TEST_CASE("a cluster where there are none") {
  Spec spec = make_spec(4096, 4096, 1024, Arch::sm_80);
  spec.schedule.cluster = wish<int64_t>(2);
  check_says(refusal(spec), {"cluster '2' is not available on sm_80"});
  spec.archs.value = {Arch::sm_90a};
  spec.schedule.cluster = wish<int64_t>(3);
  check_says(refusal(spec), {"use 1, 2 or 4"});
}

TEST_CASE("tile, stages and cluster are reported together") {
  Spec spec = make_spec(4096, 4096, 1024);
  spec.schedule.tile = wish(std::vector<int64_t>{100, 64});
  spec.schedule.cluster = wish<int64_t>(3);
  REQUIRE(plan(spec).errors == 2);
}

TEST_CASE("groups that do not sum to the waves") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.schedule.groups = wish(std::vector<int64_t>{1, 2});
  spec.schedule.comm_sms = wish<int64_t>(16);
  spec.schedule.tile = wish(std::vector<int64_t>{128, 256});
  spec.schedule.cluster = wish<int64_t>(2);
  check_says(refusal(spec), {"groups sum to 3 waves", "on 114 CTAs take 18"});
}

TEST_CASE("more groups than row panels") {
  Spec spec = make_spec(256, 65536, 2048);
  spec.schedule.comm_sms = wish<int64_t>(16);
  spec.schedule.tile = wish(std::vector<int64_t>{128, 256});
  spec.schedule.cluster = wish<int64_t>(2);
  spec.schedule.groups = wish(std::vector<int64_t>{2, 3});  // 512 tiles on 114 CTAs make 5 waves
  check_says(refusal(spec), {"2 groups", "1 row panels of 256 rows"});
  spec.schedule.layout.value = TILEPOST_TILE;
  REQUIRE(plan(spec).plans.size() == 1);
}

TEST_CASE("groups without overlap") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.schedule.groups = wish(std::vector<int64_t>{8, 8});
  spec.transport.value = TILEPOST_TRANSPORT_NONE;
  check_says(refusal(spec), {"2 groups, but transport 'none'"});
}

TEST_CASE("a budget that leaves the GEMM nothing") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.schedule.comm_sms = wish<int64_t>(64);
  spec.schedule.sms = wish<int64_t>(64);
  check_says(refusal(spec), {"comm_sms '64'", "64 SMs"});
  spec.schedule.comm_sms.reset();
  spec.schedule.sms = wish<int64_t>(2);
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  check_says(refusal(spec), {"2 SMs are too few"});
  spec.transport.value = std::nullopt;
  REQUIRE(plan(spec).plans.at(0).transport != TILEPOST_TRANSPORT_NCCL);
}

TEST_CASE("a consumer that has nothing to do") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.consumer.value = TILEPOST_CONSUMER_UNPERMUTE;
  check_says(refusal(spec), {"consumer 'unpermute' needs 'layout: tile'"});
  spec.schedule.layout.value = TILEPOST_TILE;
  REQUIRE(plan(spec).plans.size() == 1);
}

TEST_CASE("an output with more tiles than the table holds") {
  Spec spec = make_spec(INT32_MAX, INT32_MAX, 64);
  check_says(refusal(spec), {"stored in 2147483",
                             "the bounds are 2097152 tiles, 32768 of them one below the other, "
                             "and 2147483647 rows"});
  check_says(refusal(make_spec(8'000'000, 65'536, 64)), {"the bounds are 2097152 tiles"});
  check_says(refusal(make_spec(268'435'456, 64, 64)), {"32768 of them one below the other"});
}

}  // namespace
}  // namespace tilepost::test
