// The keys of kernels in catalogues: plans with one key have one kernel, to the letter.
#include <map>
#include <set>

#include "generator/diagnostic_printer.h"
#include "generator/emit/emit.h"
#include "generator/plan/variant.h"
#include "tests/catch.h"
#include "tests/unit/emit/random_plans.h"

namespace {

using namespace tilepost;

constexpr size_t kPlans = 60;

struct Kernels {
  std::map<std::string, std::string> source_of_key;
  std::map<std::string, std::set<std::string>> keys_of_source;
  size_t shared = 0;  // plans whose key another plan had
  std::vector<std::string> contradictions;
};

std::vector<std::string> weave_all(const std::vector<Plan>& plans) {
  DiagnosticPrinter diagnostics(llvm::errs());
  std::vector<std::string> sources;
  for (const Plan& plan : plans) {
    sources.push_back(emit_for_catalogue(plan, diagnostics));
    REQUIRE(!sources.back().empty());
  }
  return sources;
}

// Looks at the woven kernel of each plan under the key that `key_of` makes.
template <class KeyOf>
Kernels put_under_keys(const std::vector<Plan>& plans, const std::vector<std::string>& sources,
                       KeyOf key_of) {
  Kernels kernels;
  for (size_t i = 0; i < plans.size(); ++i) {
    const std::string key = key_of(variant_of(plans[i]));
    const std::string& source = sources[i];
    const auto [known, is_new] = kernels.source_of_key.try_emplace(key, source);
    if (!is_new) ++kernels.shared;
    if (known->second != source) kernels.contradictions.push_back(key);
    kernels.keys_of_source[source].insert(key);
  }
  return kernels;
}

}  // namespace

TEST_CASE("variants: one key has one source") {
  std::vector<Plan> plans = test::random_plans(7, kPlans);
  // Plans of the same specs with other numbers, of which many share their kernels.
  for (Plan& plan : test::random_plans(7, kPlans)) {
    plan.name = "renamed";
    plan.k += 64;
    plan.source.tunables["BAND"] = "4";
    plans.push_back(std::move(plan));
  }
  const Kernels kernels = put_under_keys(
      plans, weave_all(plans), [](const KernelVariant& variant) { return variant.key(); });
  CHECK(kernels.contradictions.empty());
  CHECK(kernels.shared >= kPlans);
  const size_t keys = kernels.source_of_key.size(), sources = kernels.keys_of_source.size();
  std::printf("%zu plans, %zu keys, %zu sources\n", plans.size(), keys, sources);
  // Two keys for one source cost a line of a manifest, and nothing else.
  CHECK(sources * 5 >= keys * 4);
  CHECK(keys > 20);
}

TEST_CASE("variants: a key without one of its parts is not enough") {
  const std::vector<Plan> plans = test::random_plans(7, kPlans);
  const std::vector<std::string> sources = weave_all(plans);
  const auto misses = [&](auto drop) {
    const auto key_of = [&](KernelVariant variant) {
      drop(variant);
      return variant.key();
    };
    return !put_under_keys(plans, sources, key_of).contradictions.empty();
  };
  CHECK(misses([](KernelVariant& variant) { variant.tunables.clear(); }));
  CHECK(misses([](KernelVariant& variant) { variant.view.clear(); }));
}

TEST_CASE("variants: keys are what a manifest can hold") {
  for (const Plan& plan : test::random_plans(11, kPlans)) {
    const std::string key = variant_of(plan).key();
    for (const char letter : key)
      CHECK((letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\'));
  }
}
