// The maps of an operation's runs, each with its tables on the device: one per number of rows, made
// on first use, or the one of the route set last.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/cuda/device/device.h"
#include "runtime/cuda/device/resources.h"
#include "runtime/cuda/shared/layout.h"
#include "runtime/cuda/shared/tasks.h"
#include "runtime/cuda/watch/tracker.h"
#include "runtime/schedule/run_map.h"

namespace tilepost::cuda {

// The memory that tables point into. It outlives them.
struct PeerPlaces {
  const Driver* driver = nullptr;
  const SharedRegions* shared = nullptr;
  uint32_t* counters = nullptr;  // of runs in sequence, which store on this rank alone
  void* send = nullptr;          // where these store
};

// One run's map. The tables lie one after the other in the operation's memory for tables.
struct DeviceMap {
  std::unique_ptr<RunMap> run;
  int64_t at = 0, bytes = 0;  // where they are in it
  const tilepost_tile_t* tiles = nullptr;
  const int32_t* positions = nullptr;  // null where the map has none
  const int32_t* rows = nullptr;       // destination rows by tile, for consumers that read slots
  const int32_t* row_map = nullptr;    // routing rows: of the product
  const int32_t* order = nullptr;      // RunMap::order
  // TILEPOST_ACCESS_WRITE; null otherwise. Targets for runs that overlap; the rest by owner.
  const uint32_t* targets = nullptr;  // [num_counters] RunMap::targets, or Tasks::targets
  const CUtensorMap* out_maps = nullptr;
  uint32_t* const* peer_counters = nullptr;
  void* const* peer_out = nullptr;
  void* const* there = nullptr;              // of runs whose tasks push; null otherwise
  const CUtensorMap* source_maps = nullptr;  // of runs whose kernel adds up; null otherwise
  const CUtensorMap* in_map = nullptr;       // of kernels whose tasks spread rows; null otherwise
  int32_t num_counters = 0;                  // that a run which overlaps begins anew, or its groups
  // Runs with tasks; null, 0 and empty otherwise.
  const tilepost_task_t* tasks = nullptr;
  int32_t num_tasks = 0, last_task = 0;  // tilepost_tasks_t::count, last
  std::vector<uint32_t> chunks;          // Tasks::chunks, on the host

  uint32_t chunks_of(int group) const { return chunks.empty() ? 0 : chunks[group]; }
  int captured = -1;      // which of the captured maps it is; -1: none
  bool kept = false;      // graphs hold its tables, or the caller does
  bool warm = false;      // its steps have been run once
  uint64_t last_use = 0;  // counts finds
  uint64_t last_run = 0;  // the last eager run with it, by number; 0: none
};

// The tables lie in memory that is allocated once, so that no run allocates: cudaMalloc can wait
// for the kernels on all devices of the process, which may be waiting for the rank that calls it. A
// map's tables take what they need there. When it is full, or has kMost maps, the one that was used
// longest ago makes room: not one that a graph holds, and no run in flight loses its own.
class DeviceMaps {
 public:
  static constexpr size_t kMost = 256;
  static constexpr size_t kMostKept = kMost - RunTracker::kMaxInFlight - 2;  // by captures

  // Waits until the eager run of this number, and those before, have ended.
  using WaitForRun = std::function<tilepost_result_t(uint64_t run)>;

  // Allocates, besides the tables of the plan's own m, `schedule_bytes` for those of others, but no
  // more than kMost of them can fill, and enough for any one of them. Uploads the plan's own map
  // unless the plan is routed. `places` outlives the maps; `send` may still be filled in before
  // runs in sequence.
  tilepost_result_t create(const tilepost_plan_t& plan, int rank, const PeerPlaces& places,
                           int64_t schedule_bytes, WaitForRun wait_for_run);

  // The map of a run with m rows; not for routed plans. While a stream is captured nothing may be
  // made, so then a new m is refused; and a captured map is kept for good.
  tilepost_result_t find(int64_t m, bool capturing, DeviceMap*& map);

  // Replaces the map of a routed plan, whose runs so far have ended.
  tilepost_result_t set_route(std::unique_ptr<RunMap> run);

  // The map of the plan's own m, or of the route set last; null before the first one.
  DeviceMap* planned() const { return maps_.empty() ? nullptr : maps_.front().get(); }

  int64_t device_bytes() const { return bytes_; }

  // Gives the memory up without releasing it.
  void leak();

 private:
  bool serves(const DeviceMap& map, int64_t m) const;
  tilepost_result_t make(int64_t m, DeviceMap*& map);
  tilepost_result_t make_room(DeviceMap& map);
  std::optional<int64_t> find_hole(int64_t bytes) const;
  tilepost_result_t remove_oldest(const DeviceMap& wanted);
  tilepost_result_t upload(DeviceMap& map, bool is_new);
  bool needs_rows() const;

  const tilepost_plan_t* plan_ = nullptr;
  const PeerPlaces* places_ = nullptr;
  int rank_ = 0;
  WaitForRun wait_for_run_;
  Stream stream_;
  PinnedMemory staging_;    // of any one map
  DeviceMemory memory_;     // of all
  int64_t most_bytes_ = 0;  // of any one map
  int64_t bytes_ = 0;       // of memory_
  uint64_t uses_ = 0;
  size_t kept_ = 0;            // by captures
  int captured_ = 0;           // maps that have been captured
  DeviceMap* last_ = nullptr;  // found by the last run
  std::vector<std::unique_ptr<DeviceMap>> maps_;
};

// True when `out` is in slot order and the caller needs to know which.
bool keeps_slots(const tilepost_plan_t& plan);

}  // namespace tilepost::cuda
