#include "runtime/bench/gpu/timing.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "runtime/bench/gpu/checked.h"

namespace tilepost::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// The most launches in a burst. A stream holds more launches before it blocks the host.
constexpr int kMaxBurst = 500;
constexpr int kProbe = 5;           // the launches with which the time of one launch is estimated
constexpr double kHostShare = 0.9;  // If launching takes more than this share of a burst's time,
                                    // the burst is slow.

cuda::Event make_timing_event() {
  cuda::Event event;
  TILEPOST_BENCH_CUDA(cudaEventCreate(event.out()));
  return event;
}

}  // namespace

std::string host_bound_in_words(const Mode& mode, const Variant& variant) {
  constexpr double kHostBound = 0.5;  // the share of slow bursts
  if (variant.host_bound() <= kHostBound) return "";
  return std::string(mode.name) + ": launching '" + variant.name +
         "' takes as long as computing, its times are the host's";
}

Timer::Timer(cudaStream_t stream, int sets, const Nvml& nvml, uint64_t seed,
             std::function<void()> alive)
    : stream_(stream),
      sets_(sets),
      nvml_(nvml),
      random_(seed),
      alive_(std::move(alive)),
      begin_(make_timing_event()),
      end_(make_timing_event()) {}

// The first launch is not timed. It keeps the device busy while the host launches the next ones.
double Timer::burst(const Mode& mode, int launches, Variant& variant, Round* sampled) {
  const auto launch = [&] {
    variant.launch(variant.set);
    variant.set = (variant.set + 1) % sets_;
  };
  if (mode.rest_ms > 0) std::this_thread::sleep_for(Milliseconds(mode.rest_ms));
  launch();
  TILEPOST_BENCH_CUDA(cudaEventRecord(begin_.get(), stream_));
  const auto begin = Clock::now();
  for (int i = 0; i < launches; ++i) launch();
  const Milliseconds launching = Clock::now() - begin;
  TILEPOST_BENCH_CUDA(cudaEventRecord(end_.get(), stream_));
  if (sampled != nullptr) sampled->mhz = nvml_.sm_clock_mhz(), sampled->watts = nvml_.watts();
  TILEPOST_BENCH_CUDA(cudaEventSynchronize(end_.get()));
  float milliseconds = 0;
  TILEPOST_BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
  ++variant.bursts;
  variant.slow += launching.count() > kHostShare * static_cast<double>(milliseconds);
  alive_();
  return static_cast<double>(milliseconds) * 1000 / launches;
}

int Timer::warm_up(const Mode& mode, std::vector<Variant>& variants) {
  constexpr Mode kNow{"", 0, 0, 0};
  double slowest = 0;
  for (Variant& variant : variants) {
    burst(kNow, kWarmups, variant, nullptr);
    slowest = std::max(slowest, burst(kNow, kProbe, variant, nullptr));
  }
  const int launches =
      std::clamp(static_cast<int>(mode.burst_ms * 1000 / slowest + 0.5), 1, kMaxBurst);
  const auto begin = Clock::now();
  for (size_t i = 0; Milliseconds(Clock::now() - begin).count() < mode.heating_ms; ++i)
    burst(kNow, launches, variants[i % variants.size()], nullptr);
  for (Variant& variant : variants) variant.bursts = variant.slow = 0;
  return launches;
}

Round Timer::round(const Mode& mode, int launches, std::vector<Variant>& variants) {
  std::vector<size_t> order(variants.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random_);
  Round round;
  round.us.resize(variants.size());
  for (const size_t i : order)
    round.us[i] = burst(mode, launches, variants[i], i == order.front() ? &round : nullptr);
  return round;
}

}  // namespace tilepost::bench
