// Of runtime/cuda/shared/flags.h what the host does.
#include "runtime/cuda/shared/flags.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <thread>

#include "runtime/cuda/watch/counter_access.h"
#include "runtime/cuda/watch/epoch.h"

namespace tilepost::cuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kPoll{100};

}  // namespace

bool wait_until_all_ended(const SharedFlags& flags, double seconds) {
  const CaptureModeGuard relaxed;
  CounterAccess access;
  if (access.create(2 * flags.ranks) != TILEPOST_OK) return false;
  const uint32_t* ended = flags.of[flags.rank] + ended_word(0, flags.ranks);
  const auto begin = Clock::now();
  for (;;) {
    const std::vector<uint32_t> runs = access.read(ended);
    if (runs.empty()) return false;
    const auto has_ended = [&](int rank) {
      return runs[rank] == runs[flags.ranks + rank] && reached(runs[rank], runs[flags.rank]);
    };
    if (std::ranges::all_of(std::views::iota(0, flags.ranks), has_ended)) return true;
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (elapsed.count() > seconds) return false;
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace tilepost::cuda
