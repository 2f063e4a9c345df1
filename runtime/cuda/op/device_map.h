// The maps of an operation's runs, each with its tables on the device. There is one map per number
// of rows, made on first use, or the map of the route set last.
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

// The memory that the tables point into. It outlives the tables.
struct PeerPlaces {
  const Driver* driver = nullptr;
  const SharedRegions* shared = nullptr;
  uint32_t* counters = nullptr;  // for runs in sequence, which store only on this rank
  void* send = nullptr;          // where runs in sequence store
};

// One run's map, and its tables on the device. The tables lie one after the other in memory that
// DeviceMaps owns.
struct DeviceMap {
  std::unique_ptr<RunMap> run;
  int64_t at = 0, bytes = 0;  // the tables' place in the memory of DeviceMaps
  const tilepost_tile_t* tiles = nullptr;
  const int32_t* positions = nullptr;  // null where the map has none
  const int32_t* rows = nullptr;       // destination rows by tile, for consumers that read slots
  const int32_t* row_map = nullptr;    // routing rows: RunMap::row_map
  const int32_t* order = nullptr;      // RunMap::order
  // Tables about memory that ranks share; null where the run has none. PeerTables (device_map.cpp)
  // describes their entries. `targets` is for runs with TILEPOST_ACCESS_WRITE.
  const uint32_t* targets = nullptr;  // [num_counters] RunMap::targets, or Tasks::targets
  const CUtensorMap* out_maps = nullptr;
  uint32_t* const* peer_counters = nullptr;
  void* const* peer_out = nullptr;
  void* const* there = nullptr;              // for runs whose tasks push; null otherwise
  const CUtensorMap* source_maps = nullptr;  // for runs whose kernel adds up; null otherwise
  const CUtensorMap* in_map = nullptr;       // for kernels of InputFrom::split; null otherwise
  int32_t num_counters = 0;                  // the number of entries of `targets`, or if that is
                                             // null, of groups
  // Tables of runs with tasks; null, 0 and empty otherwise.
  const tilepost_task_t* tasks = nullptr;
  int32_t num_tasks = 0, last_task = 0;  // tilepost_tasks_t::count, last
  std::vector<uint32_t> chunks;          // Tasks::chunks, on the host

  uint32_t chunks_of(int group) const { return chunks.empty() ? 0 : chunks[group]; }
  int captured = -1;      // the number of the map among captured maps; -1: never captured
  bool kept = false;      // whether the map is never removed, because graphs or the caller hold its
                          // tables
  bool warm = false;      // whether the map's steps have been run once
  uint64_t last_use = 0;  // DeviceMaps::uses_ when the map was last found
  uint64_t last_run = 0;  // the number of the last eager run with the map; 0: none
};

// The tables lie in memory that is allocated once, so that no run allocates. This matters because
// cudaMalloc can wait for the kernels on all devices of the process, and these kernels may wait for
// the rank that calls cudaMalloc. When the memory is full, or there are kMost maps, the map that
// was used longest ago is removed. A map that a graph holds stays. A map is removed only when the
// last run with it has ended.
class DeviceMaps {
 public:
  static constexpr size_t kMost = 256;
  // The most maps that captures keep.
  static constexpr size_t kMostKept = kMost - RunTracker::kMaxInFlight - 2;

  // Waits until the eager run number `run`, and all runs before it, have ended.
  using WaitForRun = std::function<tilepost_result_t(uint64_t run)>;

  // Allocates room for the tables of the plan's own m. Where runs may have another m, it also
  // allocates `schedule_bytes` for the tables of those runs, but at least enough for any one map
  // and at most what kMost maps can fill. Uploads the plan's own map unless the plan is routed.
  // `places` outlives the maps. Its `send` may be filled in later, before the first run in
  // sequence.
  tilepost_result_t create(const tilepost_plan_t& plan, int rank, const PeerPlaces& places,
                           int64_t schedule_bytes, WaitForRun wait_for_run);

  // Finds or makes the map of a run with m rows, or for a routed plan finds the map of its route.
  // While a stream is captured no map can be made, so a new m is refused. A captured map is kept
  // for good.
  tilepost_result_t find(int64_t m, bool capturing, DeviceMap*& map);

  // Replaces the map of a routed plan. All runs so far have ended.
  tilepost_result_t set_route(std::unique_ptr<RunMap> run);

  // The map of the plan's own m, or of the route that was set last. Null before the first route.
  DeviceMap* planned() const { return maps_.empty() ? nullptr : maps_.front().get(); }

  // Adds what create() allocates for a plan and `schedule_bytes`, and what this object has
  // allocated.
  static void add_needs(const tilepost_plan_t& plan, int64_t schedule_bytes,
                        tilepost_memory_t& memory);
  void add_memory(tilepost_memory_t& memory) const;

  // Gives up the memory without releasing it.
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
  PinnedMemory staging_;    // for the tables of one map
  DeviceMemory memory_;     // for the tables of all maps
  int64_t most_bytes_ = 0;  // the most bytes of one map's tables
  int64_t bytes_ = 0;       // the bytes of memory_
  uint64_t uses_ = 0;
  size_t kept_ = 0;            // how many maps captures keep
  int captured_ = 0;           // how many maps have been captured
  DeviceMap* last_ = nullptr;  // the map that the last run found
  std::vector<std::unique_ptr<DeviceMap>> maps_;
};

}  // namespace tilepost::cuda
