// The kernels and products that are measured.
#include <set>

#include "generator/profile/fit/variants.h"
#include "tests/catch.h"

using namespace tilepost;

TEST_CASE("kernels of a GPU are few, have names of their own, and products of full clusters") {
  for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90a}) {
    const int sms = arch_info(arch).default_sms;
    const GemmCases cases = cases_for(arch, sms, default_machine());
    CHECK(cases.variants.size() >= 3);
    CHECK(cases.variants.size() <= 80);
    CHECK(cases.cool.size() <= 700);
    CHECK(cases.sustained.size() == 2);
    std::set<std::string> names;
    for (const GemmVariant& variant : cases.variants) {
      CHECK(names.insert(variant.name).second);
      CHECK(variant.plan.kernel.arch == arch_info(arch).number);
    }
    for (const GemmCase& gemm : cases.cool) {
      const GemmVariant& variant = cases.variants[gemm.variant];
      INFO(variant.name << " " << gemm.m << "x" << gemm.n << "x" << gemm.k << " " << gemm.ctas);
      CHECK(gemm.ctas > 0);
      CHECK(gemm.ctas % (variant.request.cluster * ctas_of_tile(variant.config)) == 0);
      CHECK(gemm.ctas <= sms * variant.config.ctas_per_sm);
      CHECK((gemm.m > 0 && gemm.n % 8 == 0 && gemm.k % 8 == 0));
    }
  }
}

TEST_CASE("products of one shape follow each other") {
  const GemmCases cases = cases_for(Arch::sm_90a, 132, default_machine());
  std::set<std::tuple<int64_t, int64_t, int64_t, int>> seen;
  std::tuple<int64_t, int64_t, int64_t, int> last;
  for (const GemmCase& gemm : cases.cool) {
    const std::tuple now{gemm.m, gemm.n, gemm.k,
                         static_cast<int>(cases.variants[gemm.variant].request.element)};
    if (now == last) continue;
    CHECK(seen.insert(now).second);
    last = now;
  }
}

TEST_CASE("the same machine has the same cases") {
  const GemmCases one = cases_for(Arch::sm_90a, 132, default_machine());
  const GemmCases other = cases_for(Arch::sm_90a, 132, default_machine());
  REQUIRE(one.cool.size() == other.cool.size());
  for (size_t i = 0; i < one.cool.size(); ++i) {
    CHECK(one.cool[i].m == other.cool[i].m);
    CHECK(one.cool[i].ctas == other.cool[i].ctas);
  }
}
