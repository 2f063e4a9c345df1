// Explains in words what a run that missed its deadline was waiting for. It only makes a text of
// facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/watch/watch_page.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

struct TimeoutFacts {
  int rank = 0;
  std::string run;     // such as "run 7"
  double seconds = 0;  // the deadline
  const char* collective = "";
  bool overlaps = true;           // if not, there is one collective and no wait for a group
  bool gathers = false;           // whether the collective comes first, so that the GEMM waits for
                                  // it
  int groups = 0;                 // the number of the run's groups
  int passed = 0;                 // how many groups have no wait any more, or have arrived
  std::vector<uint32_t> targets;  // [groups] not read if the collective comes first
  std::vector<uint32_t> arrived;  // [groups] signals of this run; empty if they cannot be read
  bool stored_by_all = false;     // whether ranks store into each other's memory. Then `passed`
                                  // counts groups whose tiles have come, and targets and arrived
                                  // are not read
  bool tasks = false;             // whether the GEMM's own warps wait for tiles, to add or to move
                                  // them
  bool holds_sms = false;  // whether the GEMM holds SMs, which collectives of other communicators
                           // may need, until other ranks have come
  std::optional<std::vector<int>>
      absent;                    // ranks that have not begun, or called, the run, if known
  std::optional<OpenWait> open;  // a wait for another rank that is open, which is the reason
};

// The text "rank 1: run 7: group 2 of 5 …". It distinguishes a GEMM that stopped from a rank that
// did not arrive. Where ranks share memory it names the rank: "rank 1: run 7: rank 3 did not
// announce group 2 of 5 …".
std::string explain_timeout(const TimeoutFacts& facts);

}  // namespace tilepost::cuda
