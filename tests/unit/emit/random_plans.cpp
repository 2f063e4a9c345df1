#include "tests/unit/emit/random_plans.h"

#include <random>
#include <string>

#include "generator/plan/make_plan.h"
#include "generator/silent_diagnostics.h"
#include "generator/spec/read_fields.h"

namespace tilepost::test {
namespace {

using Words = std::vector<std::string>;

class RandomFields {
 public:
  explicit RandomFields(uint64_t seed) : random_(seed) {}

  std::vector<FieldText> next() {
    const std::string m = of({"16", "100", "256", "1000", "4096", "16384"});
    std::vector<FieldText> fields = {
        {"tilepost", "1"},
        {"name", "random"},
        {"pattern", of({"gemm", "gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all",
                        "all_gather_gemm", "all_to_all_gemm"})},
        {"ranks", of({"2", "3", "4", "8"})},
        {"arch", of({"host", "sm_80", "sm_90a", "sm_90a"})},
        {"gemm.m", of({m, "{max: " + m + "}"})},
        {"gemm.n", of({"192", "1000", "4096", "8192"})},
        {"gemm.k", of({"70", "512", "2048", "4096"})},
        {"gemm.a", of({"bf16", "f16", "e4m3"})},
    };
    sometimes(fields, "gemm.layout", {"tn", "nn"});
    sometimes(fields, "gemm.epilogue", {"[bias]", "[scale]", "[bias, gelu]", "[residual]"});
    sometimes(fields, "transport",
              {"none", "nccl", "nccl_symmetric", "copy_engine", "peer", "peer_tiles"});
    sometimes(fields, "consumer", {"rms_norm", "residual_rms_norm", "unpermute"});
    sometimes(fields, "schedule.layout", {"panel", "tile"});
    sometimes(fields, "routing", {"rows", "splits"});
    sometimes(fields, "neighbours", {"true"});
    sometimes(fields, "registered", {"true"});
    return fields;
  }

 private:
  std::string of(const Words& words) { return words[random_() % words.size()]; }
  void sometimes(std::vector<FieldText>& fields, const char* path, const Words& words) {
    if (random_() % 3 == 0) fields.push_back({path, of(words)});
  }

  std::mt19937_64 random_;
};

}  // namespace

std::vector<Plan> random_plans(uint64_t seed, size_t count) {
  RandomFields fields(seed);
  std::vector<Plan> plans;
  while (plans.size() < count) {
    SilentDiagnostics diagnostics;
    const std::optional<Spec> spec = read_fields(fields.next(), diagnostics);
    if (!spec) continue;
    for (Plan& plan : make_plans(*spec, default_machine(), diagnostics))
      plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace tilepost::test
