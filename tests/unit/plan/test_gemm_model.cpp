// The model's times of kernels, compared with each other. The planner chooses by them.
#include "generator/plan/cost/predict.h"
#include "generator/plan/kernels/host/host.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm80/sm80.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

const MachineProfile& kProfile = default_machine();

// The time of a wave of tiles of 128 x 128 in clusters of one, where the operands bound it.
double wave_of(tilepost_operands_t operands, int64_t n, int64_t k) {
  Spec spec = gemm_spec(4096, n, k);
  spec.gemm.layout.value = operands;
  spec.schedule.tile = wish(std::vector<int64_t>{128, 128});
  spec.schedule.cluster = wish<int64_t>(1);
  const Plan p = only(spec);
  const KernelConfig* found = nullptr;
  for (const KernelConfig& config : sm90_configs())
    if (config.tile_m == 128 && config.tile_n == 128 && !sm90_shape(config).swapped &&
        !sm90_shape(config).pingpong)
      found = &config;
  KernelRequest request = request_for(p);
  request.cluster = 1;
  return found->family->model(kProfile, p, *found, request).wave;
}

TEST_CASE("operands off lines and off sectors of L2 take longer, each by the length of its rows") {
  constexpr int64_t kLines = 4096, kSectors = 4096 + 16, kOff = 4096 + 8;
  const double aligned = wave_of(TILEPOST_TN, kLines, kLines);
  CHECK(wave_of(TILEPOST_TN, kLines, kSectors) > 1.02 * aligned);
  CHECK(wave_of(TILEPOST_TN, kLines, kOff) > 1.1 * wave_of(TILEPOST_TN, kLines, kSectors));
  // Where B is [k, n], its rows have n elements.
  CHECK(wave_of(TILEPOST_NN, kOff, kLines) > 1.05 * wave_of(TILEPOST_NN, kLines, kLines));
  CHECK(wave_of(TILEPOST_NN, kLines, kOff) < 0.98 * wave_of(TILEPOST_TN, kLines, kOff));
}

TEST_CASE(
    "up to 128 rows gemm_sm90_small is taken, above them where it wins by more than a sixth") {
  for (const int64_t m : {1, 16, 64, 128})
    for (const int64_t n : {1024, 4096, 14336})
      for (const int64_t k : {512, 2048, 8192}) {
        INFO(m << "x" << n << "x" << k);
        CHECK(only(gemm_spec(m, n, k)).kernel.name == std::string("gemm_sm90_small"));
      }
  // Timed on an H100: gemm_sm90_small 22 us and gemm_sm90 17 us, 62 us and 50 us.
  CHECK(only(gemm_spec(184, 7896, 1544)).kernel.name == std::string("gemm_sm90"));
  CHECK(only(gemm_spec(214, 9560, 5760)).kernel.name == std::string("gemm_sm90"));
  CHECK(only(gemm_spec(173, 15952, 1136)).kernel.name == std::string("gemm_sm90_small"));
}

TEST_CASE("clusters have no more CTAs at once than find place, and never none") {
  Plan plan;
  plan.arch = Arch::sm_90a;
  plan.sms = 132;
  CHECK(resident_sms(kProfile, plan, 2) == 132);
  CHECK(resident_sms(kProfile, plan, 8) == 120);
  Spec spec = gemm_spec(300, 1024, 1024);
  spec.schedule.sms = wish<int64_t>(4);  // a cluster of eight does not fit
  CHECK(only(spec).kernel.cluster <= 4);
}

}  // namespace
}  // namespace tilepost::test
