// How times are taken. A sample is a burst of launches between two events. In every round the
// variants run in a new random order. The chip is cool, or at its power cap.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "runtime/bench/gpu/machine.h"
#include "runtime/cuda/device/resources.h"

namespace tilepost::bench {

// A chip that rests between bursts clocks higher than one at its power cap, and kernels differ in
// which of the two suits them. So each mode is a benchmark of its own.
struct Mode {
  const char* name;
  double burst_ms;    // how long a burst is to last
  double rest_ms;     // how long the chip rests before a burst
  double heating_ms;  // how long there is load before the first round
};
inline constexpr Mode kCool{"cool", 3, 8, 0};
inline constexpr Mode kSustained{"sustained", 20, 0, 1200};
inline constexpr int kWarmups = 20;  // launches of each variant

struct Variant {
  const char* name;
  std::function<void(int set)> launch;
  int set = 0;               // the set of operands for its next launch
  int bursts = 0, slow = 0;  // bursts of all rounds; those in which launching took as long as
                             // computing

  // The share of slow bursts. Their times are the host's, not the GPU's.
  double host_bound() const { return bursts > 0 ? static_cast<double>(slow) / bursts : 0; }
};

// One round: microseconds per launch of each variant, and the clock and power while one of them
// ran.
struct Round {
  std::vector<double> us;
  double mhz = 0, watts = 0;
};

class Timer {
 public:
  // `alive` is called after every burst.
  Timer(cudaStream_t stream, int sets, const Nvml& nvml, uint64_t seed,
        std::function<void()> alive);

  // Launches every variant kWarmups times and then, without measuring, until the chip is as hot as
  // the mode wants it. Returns how many launches make a burst.
  int warm_up(const Mode& mode, std::vector<Variant>& variants);

  Round round(const Mode& mode, int burst, std::vector<Variant>& variants);

 private:
  double burst(const Mode& mode, int launches, Variant& variant, Round* sampled);

  const cudaStream_t stream_;
  const int sets_;
  const Nvml& nvml_;
  std::mt19937_64 random_;
  const std::function<void()> alive_;
  cuda::Event begin_, end_;
};

}  // namespace tilepost::bench
