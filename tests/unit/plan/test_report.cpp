// Plans as JSON and as text.
#include "generator/emit/plan_json.h"
#include "llvm/Support/JSON.h"
#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

Plan example(tilepost_layout_t layout = TILEPOST_PANEL) {
  Spec spec = make_spec(1000, 4096, 2048);
  spec.schedule.layout.value = layout;
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  spec.schedule.cluster = wish<int64_t>(2);
  spec.schedule.sms = wish<int64_t>(32);
  return plan(spec).plans.at(0);
}

llvm::json::Value parsed(const std::vector<Plan>& plans) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(plans_to_json(plans));
  REQUIRE(static_cast<bool>(value));
  return *value;
}

TEST_CASE("the JSON holds the plan's numbers") {
  const Plan plan = example();
  const llvm::json::Value value = parsed({plan});
  const llvm::json::Object& root = *value.getAsObject();
  REQUIRE(root.getString("name") == llvm::StringRef("attn_out"));
  const llvm::json::Object& json = *(*root.getArray("plans"))[0].getAsObject();
  REQUIRE(json.getInteger("m") == 1000);
  REQUIRE(json.getString("arch") == llvm::StringRef("sm_90a"));
  REQUIRE(json.getObject("budget")->getInteger("gemm_ctas") == plan.gemm_ctas);
  REQUIRE(json.getArray("cuts")->size() == plan.cuts().size());
  const llvm::json::Array& groups = *json.getArray("groups");
  REQUIRE(groups.size() == plan.tile_map().groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    const llvm::json::Object& group = *groups[g].getAsObject();
    REQUIRE(group.getInteger("offset") == plan.tile_map().groups[g].offset);
    REQUIRE(group.getInteger("count") == plan.tile_map().groups[g].count);
    REQUIRE(group.getInteger("target") == plan.tile_map().groups[g].target);
  }
  unsigned long long hash = std::stoull(json.getString("map_hash")->str(), nullptr, 16);
  REQUIRE(hash == plan.map_hash);
  REQUIRE(json.getString("map_hash")->size() == 18);
  REQUIRE(json.getObject("kernel")->getObject("tunables")->getString("ELEMENT") ==
          llvm::StringRef("tilepost::DType::bf16"));
  REQUIRE(json.getObject("prediction_us")->getArray("group_ready")->size() == groups.size());
}

TEST_CASE("the JSON's tile rows are the whole schedule") {
  for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
    const Plan plan = example(layout);
    const llvm::json::Value value = parsed({plan});
    const llvm::json::Array& rows =
        *(*value.getAsObject()->getArray("plans"))[0].getAsObject()->getArray("tiles");
    REQUIRE(rows.size() < plan.tile_map().tiles.size());
    size_t t = 0;
    for (const llvm::json::Value& row : rows) {
      const llvm::json::Array& cells = *row.getAsArray();
      const auto cell = [&](size_t i) { return *cells[i].getAsInteger(); };
      REQUIRE(cell(0) == static_cast<int64_t>(t));
      for (int64_t i = 0; i < cell(1); ++i, ++t) {
        const tilepost_tile_t& tile = plan.tile_map().tiles.at(t);
        REQUIRE(tile.m == cell(2) + i * plan.map.tile_m);
        REQUIRE(tile.n == cell(3));
        REQUIRE(tile.row == (cell(4) < 0 ? -1 : cell(4) + i * plan.map.tile_m));
        REQUIRE(tile.group == cell(5));
      }
    }
    REQUIRE(t == plan.tile_map().tiles.size());
  }
}

TEST_CASE("explain states kernel, budget, groups, timeline and reasons") {
  const Plan plan = example();
  const std::string text = explain_plan(plan);
  INFO(text);
  for (const std::string& words :
       {std::string("attn_out: gemm_all_reduce on sm_90a"), std::string(plan.kernel.name),
        std::to_string(plan.sms) + " = " + std::to_string(plan.gemm_ctas) + " GEMM",
        std::to_string(plan.waves) + " of " + std::to_string(plan.gemm_ctas) + " CTAs",
        std::string("target"), std::string("  GEMM  "), std::string("  AllReduce"),
        std::string("why\n")})
    CHECK(text.find(words) != std::string::npos);
  for (size_t at = 0; at < text.size();) {  // every line before the reasons fits a wide terminal
    const size_t end = text.find('\n', at);
    if (text.compare(at, 4, "why\n") == 0) break;
    CHECK(end - at <= 120);
    at = end + 1;
  }
}

TEST_CASE("explain says how many CTAs share a tile") {
  Plan plan = example();
  const std::string cluster = "cluster " + std::to_string(plan.map.cluster);
  plan.kernel.cluster = plan.map.cluster;
  CHECK(explain_plan(plan).find(cluster + ", " + std::to_string(plan.kernel.threads)) !=
        std::string::npos);
  plan.kernel.cluster = 2 * plan.map.cluster;
  CHECK(explain_plan(plan).find(cluster + ", 2 CTAs for each tile") != std::string::npos);
}

TEST_CASE("every group is drawn in both lanes, in order") {
  const Plan plan = example(TILEPOST_TILE);
  const std::string text = explain_plan(plan);
  for (const char* lane : {"\n  GEMM ", "\n  AllReduce "}) {
    const size_t begin = text.find(lane);
    REQUIRE(begin != std::string::npos);
    const std::string line = text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
    size_t last = 12;
    for (size_t g = 0; g < plan.cuts().size(); ++g) {
      const size_t at = line.find("0123456789abcdefghijklmnopqrstuvwxyz"[g], last);
      REQUIRE(at != std::string::npos);
      last = at;
    }
  }
}

TEST_CASE("a host plan explains itself without a prediction") {
  const std::string text = explain_plan(plan(make_spec(500, 500, 64, Arch::host)).plans.at(0));
  REQUIRE(text.find("prediction   none") != std::string::npos);
  REQUIRE(text.find("timeline") == std::string::npos);
}

}  // namespace
}  // namespace tilepost::test
