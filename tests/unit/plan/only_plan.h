// Plans of specs that must give exactly one plan, and refusals of specs that must give none.
#pragma once

#include <functional>

#include "generator/spec/names.h"
#include "runtime/map/patterns.h"
#include "runtime/map/run_path.h"
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

// The messages of a spec that must be refused.
inline std::string refusal(const Spec& spec) {
  const Planned planned = plan(spec);
  INFO(planned.messages);
  REQUIRE(planned.plans.empty());
  REQUIRE(planned.errors > 0);
  REQUIRE(planned.messages.find("internal") == std::string::npos);
  return planned.messages;
}

// The findings of verify_plan after `change`. Before it the plan must have none.
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

// A spec of 8192 columns on four ranks.
inline Spec spec_of(tilepost_pattern_t pattern, std::optional<tilepost_transport_t> transport,
                    int64_t m = 8192, int64_t k = 2048, Arch arch = Arch::sm_90a) {
  Spec spec = make_spec(m, 8192, k, arch);
  spec.pattern.value = pattern;
  spec.transport.value = transport;
  return spec;
}

// The patterns of the product's table that communicate, but for those with experts, which have
// tests of their own. A pattern that is added to the table is tested with them.
inline const std::vector<tilepost_pattern_t> kCommunicating = [] {
  std::vector<tilepost_pattern_t> patterns;
  for (const PatternRow& row : kPatterns)
    if (row.communicates() && !row.has_experts()) patterns.push_back(row.pattern);
  return patterns;
}();

// The transports that a spec may name and that `fit` accepts, from the product's list of names.
inline std::vector<tilepost_transport_t> transports_that(bool (*fit)(tilepost_access_t)) {
  std::vector<tilepost_transport_t> transports;
  for (const Spelling& spelling : spellings<tilepost_transport_t>()) {
    if (spelling.value == kAuto) continue;
    const auto transport = static_cast<tilepost_transport_t>(spelling.value);
    if (fit(access_of(transport))) transports.push_back(transport);
  }
  return transports;
}
// The transports for any number of rows. Transports whose kernels exchange tiles have tests of
// their own.
inline const std::vector<tilepost_transport_t> kOfManyRows =
    transports_that([](tilepost_access_t access) { return access != TILEPOST_ACCESS_TILES; });
// The transports among these whose ranks access each other's memory.
inline const std::vector<tilepost_transport_t> kSharing =
    transports_that([](tilepost_access_t access) {
      return access != TILEPOST_ACCESS_TILES && access != TILEPOST_ACCESS_MESSAGES;
    });

}  // namespace tilepost::test
