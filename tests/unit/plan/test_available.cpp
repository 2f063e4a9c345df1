// Plans that are made for the kernels that there are, and the few kernels that serve many plans.
#include <set>

#include "generator/catalogue/few_kernels.h"
#include "generator/plan/make_plan.h"
#include "generator/silent_diagnostics.h"
#include "generator/spec/read_fields.h"
#include "tests/catch.h"

namespace {

using namespace tilepost;

Spec spec_of(const char* pattern, const char* m) {
  SilentDiagnostics diagnostics;
  const std::vector<FieldText> fields = {
      {"tilepost", "1"},  {"name", "layer"},  {"pattern", pattern},
      {"ranks", "4"},     {"gemm.m", m},      {"gemm.n", "8192"},
      {"gemm.k", "2048"}, {"gemm.a", "bf16"}, {"arch", "sm_90a"}};
  std::optional<Spec> spec = read_fields(fields, diagnostics);
  REQUIRE(spec);
  return std::move(*spec);
}

std::set<std::string> keys_of(const std::vector<Plan>& plans) {
  std::set<std::string> keys;
  for (const Plan& plan : plans) keys.insert(variant_of(plan).key());
  return keys;
}

std::vector<Plan> plans_with(const Spec& spec, const HasKernel& has_kernel) {
  SilentDiagnostics diagnostics;
  return make_plans(spec, default_machine(), diagnostics, has_kernel);
}

}  // namespace

TEST_CASE("available: with the best plan's kernels the plan is the best one") {
  for (const char* pattern : {"gemm_all_reduce", "gemm_reduce_scatter", "all_gather_gemm"}) {
    const Spec spec = spec_of(pattern, "{max: 8192}");
    const std::vector<Plan> best = plans_with(spec, {});
    REQUIRE(!best.empty());
    const std::set<std::string> keys = keys_of(best);
    const std::vector<Plan> again =
        plans_with(spec, [&](const std::string& key) { return keys.contains(key); });
    CHECK(keys_of(again) == keys);
    CHECK(again.front().prediction.total == best.front().prediction.total);
  }
}

TEST_CASE("available: where the best plan's kernels are missing, others take over") {
  for (const char* pattern : {"gemm_all_reduce", "gemm_reduce_scatter", "all_gather_gemm"}) {
    const Spec spec = spec_of(pattern, "{max: 8192}");
    const std::vector<Plan> best = plans_with(spec, {});
    const std::set<std::string> lacking = keys_of(best);
    const std::vector<Plan> other =
        plans_with(spec, [&](const std::string& key) { return !lacking.contains(key); });
    REQUIRE(!other.empty());
    for (const std::string& key : keys_of(other)) CHECK(!lacking.contains(key));
  }
}

TEST_CASE("available: no kernel is an error") {
  SilentDiagnostics diagnostics;
  const auto none = [](const std::string&) { return false; };
  CHECK(
      make_plans(spec_of("gemm_all_reduce", "4096"), default_machine(), diagnostics, none).empty());
  CHECK(!diagnostics.ok());
}

TEST_CASE("available: times of kernels have those of the plan") {
  const Spec spec = spec_of("gemm_reduce_scatter", "4096");
  const VariantTimes times = times_of_kernels(spec, default_machine(), Arch::sm_90a, 4096);
  CHECK(times.size() > 3);
  for (const std::string& key : keys_of(plans_with(spec, {}))) CHECK(times.contains(key));
}

TEST_CASE("available: few kernels are those that save most") {
  // "both" serves all runs a little slower; "one" and "two" serve one kind best.
  const std::vector<std::pair<VariantTimes, double>> runs = {
      {{{"one", 100}, {"both", 110}}, 1},
      {{{"two", 100}, {"both", 110}}, 1},
      {{{"one", 100}, {"both", 105}, {"rare", 99}}, 0.1}};
  FewKernels kernels;
  for (const auto& [us, weight] : runs) kernels.add(us, weight, 0.4);
  CHECK(kernels.choose(1) == std::set<std::string>{"both"});
  CHECK(kernels.choose(3) == std::set<std::string>{"both", "one", "two"});
  CHECK(kernels.choose(9) == std::set<std::string>{"both", "one", "two", "rare"});
  CHECK(FewKernels().choose(9).empty());
}
