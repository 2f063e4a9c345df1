// What a run that missed its deadline was waiting for, in words. Pure: facts in, text out.
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
  std::string run;     // "run 7"
  double seconds = 0;  // the deadline
  const char* collective = "";
  bool overlaps = true;           // false: no group is waited for, one collective is all there is
  bool gathers = false;           // the collective comes first: the GEMM waits for it
  int groups = 0;                 // of the run
  int passed = 0;                 // groups whose wait is over, or that have arrived
  std::vector<uint32_t> targets;  // by group; not looked at where the collective comes first
  std::vector<uint32_t> arrived;  // signals of this run per group; empty when they cannot be read
  bool stored_by_all = false;     // ranks store into each other's memory: `passed` counts groups
                                  // whose tiles are there, targets and arrived are not looked at
  bool tasks = false;             // the GEMM's own warps wait for tiles, to add or to move them
  bool holds_sms = false;  // the GEMM holds SMs until other ranks have come, which collectives
                           // of other communicators may need
  std::optional<std::vector<int>>
      absent;                    // ranks that have not begun, or called, the run, if known
  std::optional<OpenWait> open;  // a wait for another rank that is not over: the reason, if any
};

// "rank 1: run 7: group 2 of 5 …"; tells a GEMM that stopped from a rank that did not arrive. Where
// ranks share memory it names the rank: "rank 1: run 7: rank 3 did not announce group 2 of 5 …".
std::string explain_timeout(const TimeoutFacts& facts);

}  // namespace tilepost::cuda
