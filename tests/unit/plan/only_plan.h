// Plans of specs that must give exactly one.
#pragma once

#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {

inline Plan only(const Spec& spec) {
  const Planned planned = plan(spec);
  INFO(planned.messages);
  REQUIRE(planned.errors == 0);
  REQUIRE(planned.plans.size() == 1);
  return planned.plans.front();
}

// 8192 columns on four ranks, and what carries them.
inline Spec spec_of(Pattern pattern, Transport transport, int64_t m = 8192, int64_t k = 2048,
                    Arch arch = Arch::sm_90a) {
  Spec spec = make_spec(m, 8192, k, arch);
  spec.pattern.value = pattern;
  spec.transport.value = transport;
  return spec;
}

constexpr Pattern kPatterns[] = {Pattern::gemm_all_reduce, Pattern::gemm_reduce_scatter,
                                 Pattern::gemm_all_to_all, Pattern::all_gather_gemm};
constexpr Transport kSharing[] = {Transport::copy_engine, Transport::peer};

}  // namespace tilepost::test
