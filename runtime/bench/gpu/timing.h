// How times are measured. A sample is a burst of launches between two events. In every round the
// variants run in a new random order. The chip is either cool or at its power cap.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "runtime/bench/gpu/machine.h"
#include "runtime/cuda/device/resources.h"

namespace tilepost::bench {

// A chip that rests between bursts clocks higher than a chip at its power cap, and some kernels do
// better in one case and some in the other. So each mode is a benchmark of its own.
struct Mode {
  const char* name;
  double burst_ms;    // how long a burst should last
  double rest_ms;     // how long the chip rests before a burst
  double heating_ms;  // how long the chip is loaded before the first round
};
inline constexpr Mode kCool{"cool", 3, 8, 0};
inline constexpr Mode kSustained{"sustained", 20, 0, 1200};
inline constexpr int kWarmups = 20;  // launches of each variant before it is measured

struct Variant {
  const char* name;
  std::function<void(int set)> launch;
  int set = 0;               // the set of operands for the next launch
  int bursts = 0, slow = 0;  // The bursts of all rounds, and the slow ones among them, in which
                             // launching took almost as long as computing.

  // The share of slow bursts. The times of slow bursts are the host's and not the GPU's.
  double host_bound() const { return bursts > 0 ? static_cast<double>(slow) / bursts : 0; }
};

// Says that launching a variant takes as long as computing, in most bursts of a mode. "" if not.
std::string host_bound_in_words(const Mode& mode, const Variant& variant);

// One round: the microseconds per launch of each variant, and the clock and the power while one of
// the variants ran.
struct Round {
  std::vector<double> us;
  double mhz = 0, watts = 0;
};

class Timer {
 public:
  // Calls `alive` after every burst.
  Timer(cudaStream_t stream, int sets, const Nvml& nvml, uint64_t seed,
        std::function<void()> alive);

  // Launches every variant kWarmups times. Then launches them without measuring until the chip is
  // as hot as the mode requires. Returns the number of launches of a burst.
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
