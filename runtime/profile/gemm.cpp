// GEMMs alone: in short bursts on a chip that rests between them, and loaded as by operations.
#include <algorithm>

#include "runtime/bench/gpu/timing.h"
#include "runtime/bench/record.h"
#include "runtime/profile/gemm_runner.h"
#include "runtime/profile/steps.h"

namespace tilepost::profile {
namespace {

constexpr uint64_t kSeed = 1;
constexpr bench::Mode kShortBursts{"cool", 1.5, 4, 0};
// As in a program whose ranks communicate between its GEMMs, which take some seven tenths of its
// time. With five sixths H200s clock some 4 % lower, and without rests more than a tenth.
constexpr bench::Mode kLoaded{"sustained", 3, 1.2, 1200};
constexpr int kCoolRounds = 3, kLoadedRounds = 60;

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

bool same_product(const Work& work, const Gemm& one, const Gemm& other) {
  const auto input = [&](const Gemm& gemm) { return work.kernels[gemm.kernel].plan().input; };
  return one.m == other.m && one.n == other.n && one.k == other.k && input(one) == input(other);
}

// A kernel that computes the product, or null where this GPU does not hold its grid: profiles
// guess how many large clusters fit.
std::unique_ptr<bench::Gemm> make_runner(const Context& context, const Gemm& gemm,
                                         const bench::Operands& operands) try {
  return std::make_unique<bench::Gemm>(plan_for(context.work, gemm), context.machine.device,
                                       operands, int64_t{gemm.m} * gemm.n, tilepost_view_t{});
} catch (const bench::BenchError& error) {
  bench::Record("note")
      .set("kernel", context.work.kernels[gemm.kernel].name)
      .set("text", error.what());
  cudaGetLastError();
  return nullptr;
}

// Times kernels that compute the same product in turns, and prints a record for each.
void measure_product(const Context& context, const std::vector<Gemm>& asked,
                     const bench::Mode& mode, int rounds) {
  const Work& work = context.work;
  cuda::Stream stream;
  bench::check_tilepost(cuda::make_stream(stream, false), "make_stream");
  const tilepost_plan_t first = plan_for(work, asked.front());
  bench::Operands operands(first, first.map.m * first.map.n, stream.get());
  operands.fill_normal(kSeed);
  std::vector<Gemm> gemms;
  std::vector<std::unique_ptr<bench::Gemm>> runners;
  std::vector<bench::Variant> variants;
  for (const Gemm& gemm : asked) {
    std::unique_ptr<bench::Gemm> runner = make_runner(context, gemm, operands);
    if (runner == nullptr) continue;
    const auto launch = [runner = runner.get(), &stream](int set) {
      runner->launch(set, stream.get());
    };
    gemms.push_back(gemm);
    runners.push_back(std::move(runner));
    variants.push_back({work.kernels[gemm.kernel].name, launch});
  }
  if (gemms.empty()) return;
  bench::Timer timer(stream.get(), operands.count(), context.nvml, kSeed, context.alive);
  const int burst = timer.warm_up(mode, variants);
  std::vector<std::vector<double>> us(gemms.size());
  double mhz = 0;
  for (int i = 0; i < rounds; ++i) {
    const bench::Round round = timer.round(mode, burst, variants);
    for (size_t j = 0; j < gemms.size(); ++j) us[j].push_back(round.us[j]);
    mhz = round.mhz;
  }
  for (size_t j = 0; j < gemms.size(); ++j)
    bench::Record("time")
        .set("kind", "gemm")
        .set("mode", mode.name)
        .set("kernel", work.kernels[gemms[j].kernel].name)
        .set("m", gemms[j].m)
        .set("n", gemms[j].n)
        .set("k", gemms[j].k)
        .set("ctas", gemms[j].ctas)
        .set("host_bound", variants[j].host_bound())
        .set("mhz", mhz)
        .set("us", median(us[j]));
}

void measure(const Context& context, const Gemm* begin, const Gemm* end, const bench::Mode& mode,
             int rounds) {
  TILEPOST_BENCH_CUDA(cudaSetDevice(0));
  while (begin != end) {
    const Gemm* const next = std::find_if(
        begin, end, [&](const Gemm& gemm) { return !same_product(context.work, *begin, gemm); });
    measure_product(context, {begin, next}, mode, rounds);
    begin = next;
  }
}

}  // namespace

tilepost_plan_t plan_for(const Work& work, const Gemm& gemm) {
  tilepost_plan_t plan = work.kernels[gemm.kernel].plan();
  plan.map.m = gemm.m;
  plan.map.n = gemm.n;
  plan.k = gemm.k;
  plan.gemm_ctas = gemm.ctas;
  return plan;
}

GemmRunner::GemmRunner(const Work& work, Gemm gemm, int ctas, const cuda::DeviceInfo& device,
                       cudaStream_t stream)
    : stream_(stream), plan_([&] {
        const int cluster =
            std::max(1, static_cast<int>(work.kernels[gemm.kernel].plan().kernel.cluster));
        gemm.ctas = ctas / cluster * cluster;
        return plan_for(work, gemm);
      }()) {
  operands_ = std::make_unique<bench::Operands>(plan_, plan_.map.m * plan_.map.n, stream);
  operands_->fill_normal(kSeed);
  gemm_ = std::make_unique<bench::Gemm>(plan_, device, *operands_, plan_.map.m * plan_.map.n,
                                        tilepost_view_t{});
  TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream));
}

void measure_cool(const Context& context, int first, int last) {
  measure(context, context.work.cool + first, context.work.cool + last, kShortBursts, kCoolRounds);
}

void measure_sustained(const Context& context) {
  measure(context, context.work.sustained, context.work.sustained + context.work.num_sustained,
          kLoaded, kLoadedRounds);
}

}  // namespace tilepost::profile
