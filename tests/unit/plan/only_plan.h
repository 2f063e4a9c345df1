// Plans of specs that must give exactly one.
#pragma once

#include <functional>

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

// What verify_plan says of a plan, which it has nothing against, when that was changed.
inline std::string said_of(Plan plan, const std::function<void(Plan&)>& change) {
  REQUIRE(join(verify_plan(plan)) == "");
  change(plan);
  return join(verify_plan(plan));
}

// A GEMM alone.
inline Spec gemm_spec(int64_t m, int64_t n, int64_t k, Arch arch = Arch::sm_90a) {
  Spec spec = make_spec(m, n, k, arch);
  spec.pattern.value = TILEPOST_GEMM;
  return spec;
}

// 8192 columns on four ranks, and what carries them.
inline Spec spec_of(tilepost_pattern_t pattern, std::optional<tilepost_transport_t> transport,
                    int64_t m = 8192, int64_t k = 2048, Arch arch = Arch::sm_90a) {
  Spec spec = make_spec(m, 8192, k, arch);
  spec.pattern.value = pattern;
  spec.transport.value = transport;
  return spec;
}

constexpr tilepost_pattern_t kPatterns[] = {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                            TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM,
                                            TILEPOST_ALL_TO_ALL_GEMM};
constexpr tilepost_transport_t kSharing[] = {TILEPOST_TRANSPORT_COPY_ENGINE,
                                             TILEPOST_TRANSPORT_PEER};

}  // namespace tilepost::test
