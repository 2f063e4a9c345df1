// Tuning files: what `tilepost tune` has measured, an entry for each spec and shape. An entry says
// which specs it is for, where and how it was measured, and which of the planner's choices was the
// fastest. docs/tuning.md explains the file to users.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/pick.h"

namespace tilepost {

// The format of a tuning file, which the key `tilepost_tuning` names.
inline constexpr int kTuningFormat = 1;

// All that the best choice depends on. An entry is for the specs that have all of it.
struct TuningKey {
  tilepost_pattern_t pattern = {};
  int64_t ranks = 1;
  Arch arch = Arch::host;
  int64_t m = 0;  // or the bound of runs' rows
  bool any_m = false;
  int64_t n = 0, k = 0;
  tilepost_dtype_t a = {}, out = {};
  tilepost_operands_t layout = {};
  tilepost_accumulate_t accumulate = {};
  tilepost_scales_t scales = {};
  tilepost_scales_order_t scales_a = {};
  int64_t experts = 0;            // of patterns with experts; otherwise 0
  int64_t top = 0, max_rows = 0;  // where tokens go to experts; max_rows 0: as many as can be
  tilepost_gate_t gate = {};
  int epilogue = 0;  // a set of TILEPOST_SCALE …
  tilepost_consumer_t consumer = {};
  tilepost_routing_t routing = {};
  int64_t max_received = 0;  // 0: all rows that are sent
  bool neighbours = false, registered = false;
  std::string kernel;  // the user's own: its file and function; "": a bundled one
  tilepost_layout_t tiles = TILEPOST_PANEL;  // schedule.layout
  tilepost_sum_t sum = TILEPOST_SUM_STAGED;  // schedule.sum
  int64_t sms = 0;                           // schedule.sms

  bool operator==(const TuningKey&) const = default;
};

// The key of a spec on one of its architectures.
TuningKey key_of(const Spec& spec, Arch arch);

// "8192x4096x4096", or "any m up to 8192, n 4096, k 4096".
std::string shape_text(const TuningKey& key);

// What was measured on.
struct TunedMachine {
  std::string profile;             // MachineProfile::name of the machine that was planned for
  std::string gpu;                 // as CUDA calls it: "NVIDIA H200"
  int64_t gpus = 0;                // of the machine
  std::string driver, cuda, nccl;  // versions

  bool operator==(const TunedMachine&) const = default;
};

// One of the plans that were measured, of the slowest rank; us.
struct MeasuredChoice {
  std::string what;                  // pick_text()
  double us = 0, low = 0, high = 0;  // median and quartiles
  double predicted = 0;
  int64_t samples = 0;

  bool operator==(const MeasuredChoice&) const = default;
};

struct TuningEntry {
  TuningKey key;
  TunedMachine machine;
  std::string version;   // of tilepost
  int64_t abi = 0;       // TILEPOST_ABI_VERSION of that version
  std::string revision;  // of the tool's sources, "" if unknown
  bool graphs = false;   // whether replays of CUDA graphs were measured, not single runs
  Pick choice;           // the fastest
  std::vector<MeasuredChoice> measured;  // the fastest first
  Place where;                           // of the entry, where it was read from a file

  // "2 x NVIDIA H200".
  std::string measured_on() const;
  // Whether the tool that runs measured it.
  bool is_of_this_version() const;
};

// Sets `version` and `abi` to those of the tool that runs.
void stamp(TuningEntry& entry);

struct TuningFile {
  std::string path;  // as given
  std::vector<TuningEntry> entries;
};

// Puts the entry in place of the one with the same key, profile and GPU, or behind all others.
void put_entry(TuningEntry entry, TuningFile& file);

// The entry of a key that was measured for this profile by this version of tilepost; null if there
// is none.
const TuningEntry* find_entry(const TuningFile& file, const TuningKey& key,
                              const std::string& profile);

}  // namespace tilepost
