#include "runtime/cuda/op/device_map.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/cuda/consumers/row_pushes.h"
#include "runtime/cuda/device/tensor_maps.h"
#include "runtime/cuda/shared/flags.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

// The alignment of tables, in bytes. A tile is read in one load. TMA needs a tensor map, which has
// 128 bytes, aligned to 64 bytes (CUDA driver API, CUtensorMap).
constexpr size_t kTableAlignment = 128;

size_t aligned(size_t bytes) {
  return (bytes + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
}

// A number of bytes that no run's tables exceed. It counts whole tiles of every share or split, and
// the padding tiles that fill up the clusters of every group. No run has more groups than the plan
// (groups.h).
size_t most_table_bytes(const tilepost_plan_t& plan, bool needs_rows) {
  const tilepost_map_t& map = plan.map;
  const int64_t rows = std::max(tiles_m(map), map.ranks * share_tiles(map)) + map.ranks;
  const int64_t groups = std::min<int64_t>(plan.map.num_groups, rows);
  // The number of groups and shares that padding may fill up to whole clusters.
  const int64_t filled = groups + (map.turn > 0 ? map.ranks : 0);
  const size_t tiles = (rows + filled * (map.cluster - 1) + map.cluster) * tiles_n(map);
  const size_t entries = aligned(rows * tiles_n(map) * sizeof(int32_t));
  size_t bytes = aligned(tiles * sizeof(tilepost_tile_t)) + entries;
  if (needs_rows) bytes += entries;
  if (plan.routing == TILEPOST_ROUTING_ROWS) bytes += aligned(rows_of_runs(plan) * sizeof(int32_t));
  if (plan.access == TILEPOST_ACCESS_TILES)
    bytes += aligned(2 * plan.ranks * sizeof(CUtensorMap)) + aligned(plan.ranks * sizeof(void*));
  if (plan.access == TILEPOST_ACCESS_WRITE)
    bytes += aligned(shared_counters(plan) * sizeof(uint32_t)) +
             aligned(plan.ranks * sizeof(CUtensorMap)) + 3 * aligned(plan.ranks * sizeof(void*));
  const RunPath path = path_of(plan, true);
  if (path.is_fused) bytes += aligned(plan.ranks * sizeof(CUtensorMap));
  if (path.reads == InputFrom::split) bytes += aligned(path.places_of_rows() * sizeof(CUtensorMap));
  // A group has a sum, and a move for each rank that has stored rows here. In an AllGather the
  // first group has up to two copies of own rows, and each other group has a push. Scales move by
  // as many tasks as their rows.
  const int64_t most_tasks = plan.ranks * (moved_scales(plan).exist() ? 2 : 1);
  if (path.has_tasks) bytes += aligned(groups * most_tasks * sizeof(tilepost_task_t));
  return bytes;
}

// Whether something reads where the rows of tiles in slots belong.
bool reads_slots(const tilepost_plan_t& plan) {
  return has_slots(plan) && plan.consumer != TILEPOST_CONSUMER_UNPERMUTE;
}

// The bytes of one map's tables, at most, and of the tables of all maps.
struct TableRoom {
  int64_t most, all;
};
TableRoom room_of(const tilepost_plan_t& plan, int64_t schedule_bytes) {
  const auto most = static_cast<int64_t>(most_table_bytes(plan, reads_slots(plan)));
  if (plan.any_m == 0 || is_routed(plan)) return {most, most};
  constexpr auto kMaps = static_cast<int64_t>(DeviceMaps::kMost);
  return {most, most + std::clamp(schedule_bytes, most, kMaps * most)};
}

// The tables of memory that ranks share (tilepost_view_t). If a kernel stores there, they have the
// places of the rows of each rank's share and the counters that the kernel raises. Otherwise they
// have the places where the other ranks' rows arrive.
//
// Tables have an entry for each owner if kernels store by owner, or for each parity and rank if
// kernels exchange tiles. Otherwise they are empty. In a run in sequence one owner has all rows,
// and all entries are equal. `there` and `counters` are for what warps push, by rank. `in_map` has
// entries if the kernel reads its own rows of A elsewhere. Runs in sequence have `in_map` too,
// because the kernel makes the map usable by a fence whether or not a tile needs the map.
struct PeerTables {
  std::vector<CUtensorMap> out_maps;
  std::vector<uint32_t*> counters;
  std::vector<void*> out;
  std::vector<void*> there;
  std::vector<CUtensorMap> in_map;
  std::vector<CUtensorMap> sources;  // this rank's slots, by the rank that stores into them
};

// The rows of one owner, as this rank stores them.
struct OwnedRows {
  void* out;
  int64_t rows;
  uint32_t* counters;
};

uint32_t* counters_of(const SharedRegions& shared, int rank) {
  const int64_t counters = shared.layout().flags +
                           counter_word(0, shared.ranks()) * static_cast<int64_t>(sizeof(uint32_t));
  return static_cast<uint32_t*>(shared.of(rank, counters));
}

// The rows of `owner`, at the place that place_at_owner() gives.
OwnedRows rows_at(const tilepost_plan_t& plan, const RunMap& run, const SharedRegions& shared,
                  int owner) {
  const SharedLayout& layout = shared.layout();
  const OwnerPlace place =
      place_at_owner(plan, slots_of(plan, plan.map), run.map(), shared.rank(), owner);
  const int64_t at =
      (place.in_slots ? layout.slots : layout.landed) + place.first * element_bytes(plan.output);
  return {shared.of(owner, at), rows_of_rank(run.map(), owner), counters_of(shared, owner)};
}

// Warps push to the same place on every rank.
void add_pushes(const RunPath& path, const SharedRegions& shared, PeerTables& tables) {
  const bool rows = path.pushes == Pushes::rows;
  for (int rank = 0; rank < shared.ranks(); ++rank) {
    tables.there.push_back(
        shared.of(rank, rows ? shared.layout().gathered : shared.layout().landed));
    if (rows) tables.counters.push_back(counters_of(shared, rank));
  }
}

// Makes the tensor maps of this rank's slot on every rank, by the parity of the run's number.
tilepost_result_t add_slots(const tilepost_plan_t& plan, const RunMap& run,
                            const PeerPlaces& places, PeerTables& tables) {
  // Threads store lines, without tensor maps.
  if (plan.shots == TILEPOST_ONE_SHOT_LINES) return TILEPOST_OK;
  const SharedLayout& layout = places.shared->layout();
  for (int parity = 0; parity < 2; ++parity) {
    const int64_t slot = layout.slot_bytes * (parity * plan.ranks + places.shared->rank());
    for (int rank = 0; rank < plan.ranks; ++rank) {
      CUtensorMap map{};
      TILEPOST_TRY(encode_output(*places.driver, plan, places.shared->of(rank, layout.slots + slot),
                                 exchanged_rows(plan, run.map(), rank), 0, map));
      tables.out_maps.push_back(map);
    }
  }
  return TILEPOST_OK;
}

// Makes the tensor maps of the places where all ranks' rows arrive on this rank. A map must have at
// least one row. A rank that multiplies no rows has no tiles, so its map is not used.
tilepost_result_t add_input(const tilepost_plan_t& plan, const RunMap& run,
                            const PeerPlaces& places, PeerTables& tables) {
  const SharedLayout& layout = places.shared->layout();
  for (int place = 0; place < path_of(plan, true).places_of_rows(); ++place)
    TILEPOST_TRY(encode_input(*places.driver, plan,
                              places.shared->own(layout.gathered + place * layout.gathered_bytes),
                              std::max<int64_t>(1, run.rows), tables.in_map.emplace_back()));
  return TILEPOST_OK;
}

// Makes one tensor map of this rank's slots for each rank that stores there. The map has the rows
// and gaps with which that rank stores (rows_at).
tilepost_result_t add_sources(const tilepost_plan_t& plan, const RunMap& run,
                              const SharedRegions& shared, const Driver& driver,
                              PeerTables& tables) {
  const Slots slots = slots_of(plan, plan.map);
  const int64_t rows = std::max<int64_t>(1, rows_of_rank(run.map(), shared.rank()));
  for (int source = 0; source < plan.ranks; ++source) {
    const int64_t at = shared.layout().slots + slots.at(source, 0) * element_bytes(plan.output);
    TILEPOST_TRY(encode_output(driver, plan, shared.own(at), rows, plan.row_gap,
                               tables.sources.emplace_back()));
  }
  return TILEPOST_OK;
}

tilepost_result_t make_peer_tables(const tilepost_plan_t& plan, const RunMap& run,
                                   const PeerPlaces& places, PeerTables& tables) {
  if (run.path.warps_push()) add_pushes(run.path, *places.shared, tables);
  if (path_of(plan, true).reads == InputFrom::split) return add_input(plan, run, places, tables);
  if (run.path.exchanges_parts) return add_slots(plan, run, places, tables);
  if (!run.path.stores_by_owner) return TILEPOST_OK;
  const int64_t gap = run.overlaps ? plan.row_gap : 0;
  for (int owner = 0; owner < plan.ranks; ++owner) {
    const OwnedRows rows =
        run.overlaps
            ? rows_at(plan, run, *places.shared, owner)
            : OwnedRows{places.send, run.tiles.send_elements / run.map().n, places.counters};
    CUtensorMap map{};
    // A map must have at least one row. An owner without rows has no tiles, so its map is not used.
    TILEPOST_TRY(
        encode_output(*places.driver, plan, rows.out, std::max<int64_t>(1, rows.rows), gap, map));
    tables.out_maps.push_back(map);
    tables.counters.push_back(rows.counters);
    tables.out.push_back(rows.out);
  }
  const bool adds = run.path.is_fused && row_of(plan).sums;
  return adds ? add_sources(plan, run, *places.shared, *places.driver, tables) : TILEPOST_OK;
}

// Puts tables one after the other into the staging memory, and returns their addresses on the
// device. Tables beyond `most` bytes are counted but not written. With `most` 0 it needs no memory.
class Packer {
 public:
  Packer(void* staging, void* device, size_t most)
      : staging_(static_cast<char*>(staging)), device_(static_cast<char*>(device)), most_(most) {}

  template <class T>
  const T* add(const std::vector<T>& table) {
    if (table.empty()) return nullptr;
    if (bytes_ + table.size() * sizeof(T) <= most_)
      std::memcpy(staging_ + bytes_, table.data(), table.size() * sizeof(T));
    const T* place = device_ != nullptr ? reinterpret_cast<const T*>(device_ + bytes_) : nullptr;
    bytes_ += aligned(table.size() * sizeof(T));
    return place;
  }
  size_t bytes() const { return bytes_; }

 private:
  char* staging_;
  char* device_;
  size_t most_;
  size_t bytes_ = 0;
};

// Adds all tables of a map to the packer, in a fixed order.
void pack(const std::vector<int32_t>& rows, const PeerTables& peers, const Tasks& tasks,
          Packer& packer, DeviceMap& map) {
  const RunMap& run = *map.run;
  map.tiles = packer.add(run.tiles.tiles);
  map.positions = packer.add(run.tiles.positions);
  map.rows = packer.add(rows);
  map.row_map = packer.add(run.row_map);
  map.order = packer.add(run.order);
  const std::vector<uint32_t>& targets = tasks.targets.empty() ? run.targets : tasks.targets;
  const bool counts = run.path.access == TILEPOST_ACCESS_WRITE && !run.path.sums_at_home;
  map.targets = counts ? packer.add(targets) : nullptr;
  map.num_counters =
      static_cast<int32_t>(map.targets != nullptr ? targets.size() : run.num_groups());
  map.out_maps = packer.add(peers.out_maps);
  map.peer_counters = packer.add(peers.counters);
  map.peer_out = packer.add(peers.out);
  map.there = packer.add(peers.there);
  map.in_map = packer.add(peers.in_map);
  map.source_maps = packer.add(peers.sources);
  map.tasks = packer.add(tasks.list);
  map.num_tasks = static_cast<int32_t>(tasks.list.size());
  map.last_task = static_cast<int32_t>(tasks.last);
}

}  // namespace

bool DeviceMaps::needs_rows() const {
  return reads_slots(*plan_);
}

void DeviceMaps::add_needs(const tilepost_plan_t& plan, int64_t schedule_bytes,
                           tilepost_memory_t& memory) {
  const TableRoom room = room_of(plan, schedule_bytes);
  memory.device_bytes += room.all;
  memory.pinned_bytes += room.most;
}

void DeviceMaps::add_memory(tilepost_memory_t& memory) const {
  memory.device_bytes += memory_.bytes();
  memory.pinned_bytes += staging_.bytes();
}

tilepost_result_t DeviceMaps::create(const tilepost_plan_t& plan, int rank,
                                     const PeerPlaces& places, int64_t schedule_bytes,
                                     WaitForRun wait_for_run) {
  plan_ = &plan;
  places_ = &places;
  rank_ = rank;
  wait_for_run_ = std::move(wait_for_run);
  const TableRoom room = room_of(plan, schedule_bytes);
  most_bytes_ = room.most;
  bytes_ = room.all;
  TILEPOST_TRY(make_stream(stream_, true));
  TILEPOST_TRY(make_pinned_memory(staging_, static_cast<size_t>(most_bytes_)));
  TILEPOST_TRY(make_device_memory(memory_, static_cast<size_t>(bytes_)));
  if (is_routed(plan)) {
    maps_.push_back(std::make_unique<DeviceMap>());
    return TILEPOST_OK;
  }
  DeviceMap* map = nullptr;
  TILEPOST_TRY(make(rows_of_runs(plan), map));
  map->kept = true;
  return TILEPOST_OK;
}

bool DeviceMaps::serves(const DeviceMap& map, int64_t m) const {
  return map.run != nullptr && (is_routed(*plan_) || map.run->m == m);
}

tilepost_result_t DeviceMaps::find(int64_t m, bool capturing, DeviceMap*& map) {
  map = last_ != nullptr && serves(*last_, m) ? last_ : nullptr;
  for (size_t i = 0; map == nullptr && i < maps_.size(); ++i)
    if (serves(*maps_[i], m)) map = maps_[i].get();
  if (map == nullptr && capturing)
    return fail(
        TILEPOST_INVALID_ARGUMENT,
        "the first run with %" PRId64
        " rows makes tables and cannot be captured; run once with it outside of the capture",
        m);
  if (map == nullptr) TILEPOST_TRY(make(m, map));
  const bool newly_kept = capturing && !map->kept;
  if (newly_kept && kept_ == kMostKept)
    return fail(TILEPOST_UNSUPPORTED,
                "%zu numbers of rows have been captured, the most that an operation keeps tables "
                "for, and %" PRId64 " is another; make a second operation for it",
                kMostKept, m);
  last_ = map;
  map->last_use = ++uses_;
  map->kept |= capturing;
  kept_ += newly_kept;
  if (capturing && map->captured < 0) map->captured = captured_++;
  return TILEPOST_OK;
}

tilepost_result_t DeviceMaps::set_route(std::unique_ptr<RunMap> run) {
  DeviceMap& map = *maps_.front();
  map.run = std::move(run);
  map.warm = false;
  return upload(map, false);
}

tilepost_result_t DeviceMaps::make(int64_t m, DeviceMap*& map) {
  auto fresh = std::make_unique<DeviceMap>();
  fresh->run = make_run_map(*plan_, rank_, m);
  TILEPOST_TRY(upload(*fresh, true));
  maps_.push_back(std::move(fresh));
  map = maps_.back().get();
  return TILEPOST_OK;
}

// The first place between the maps that has room for `bytes` bytes, if there is one.
std::optional<int64_t> DeviceMaps::find_hole(int64_t bytes) const {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const auto& map : maps_) taken.emplace_back(map->at, map->at + map->bytes);
  std::sort(taken.begin(), taken.end());
  int64_t at = 0;
  for (const auto& [first, end] : taken) {
    if (first - at >= bytes) return at;
    at = std::max(at, end);
  }
  if (bytes_ - at < bytes) return {};
  return at;
}

tilepost_result_t DeviceMaps::make_room(DeviceMap& map) {
  for (;;) {
    const std::optional<int64_t> hole = find_hole(map.bytes);
    if (hole && maps_.size() < kMost) {
      map.at = *hole;
      return TILEPOST_OK;
    }
    TILEPOST_TRY(remove_oldest(map));
  }
}

tilepost_result_t DeviceMaps::remove_oldest(const DeviceMap& wanted) {
  auto oldest = maps_.end();
  for (auto map = maps_.begin(); map != maps_.end(); ++map)
    if (!(*map)->kept && (oldest == maps_.end() || (*map)->last_use < (*oldest)->last_use))
      oldest = map;
  if (oldest == maps_.end())
    return fail(TILEPOST_UNSUPPORTED,
                "the tables of %" PRId64 " rows have %" PRId64
                " bytes, and those of captured runs "
                "leave no such place among the %" PRId64
                " bytes of tables; raise tilepost_options_t::schedule_bytes",
                wanted.run->m, wanted.bytes, bytes_);
  TILEPOST_TRY(wait_for_run_((*oldest)->last_run));
  if (oldest->get() == last_) last_ = nullptr;
  maps_.erase(oldest);
  return TILEPOST_OK;
}

// Copies the tables on a stream of its own and waits for the copy, so that the run may then be put
// on any stream. The tables of a new map are first counted, to find a place for them.
tilepost_result_t DeviceMaps::upload(DeviceMap& map, bool is_new) {
  const CaptureModeGuard relaxed;
  const RunMap& run = *map.run;
  std::vector<int32_t> rows;
  if (needs_rows()) rows = destination_rows(run.tiles);
  PeerTables peers;
  TILEPOST_TRY(make_peer_tables(*plan_, run, *places_, peers));
  Tasks tasks;
  if (run.path.has_tasks) TILEPOST_TRY(make_tasks(*plan_, run, *places_->shared, tasks));
  if (run.path.pushes_tokens) tasks.targets = pushed_targets(*plan_, run);
  Packer counting(nullptr, nullptr, 0);
  pack(rows, peers, tasks, counting, map);
  const auto bytes = static_cast<int64_t>(counting.bytes());
  if (bytes > most_bytes_)
    return fail(TILEPOST_INTERNAL_ERROR,
                "the tables of a run with %" PRId64 " rows have %" PRId64
                " bytes, more than %" PRId64,
                run.m, bytes, most_bytes_);
  map.bytes = is_new ? bytes : most_bytes_;
  if (is_new) TILEPOST_TRY(make_room(map));
  void* const place = static_cast<char*>(memory_.get()) + map.at;
  Packer packer(staging_.get(), place, counting.bytes());
  pack(rows, peers, tasks, packer, map);
  map.chunks = std::move(tasks.chunks);
  if (bytes == 0) return TILEPOST_OK;
  TILEPOST_CUDA(cudaMemcpyAsync(place, staging_.get(), packer.bytes(), cudaMemcpyHostToDevice,
                                stream_.get()));
  TILEPOST_CUDA(cudaStreamSynchronize(stream_.get()));
  return TILEPOST_OK;
}

void DeviceMaps::leak() {
  memory_.leak();
  staging_.leak();
}

}  // namespace tilepost::cuda
