#include "runtime/cuda/schedule.h"

#include <cinttypes>

namespace tilepost::cuda {
namespace {

// The generator has verified the map whose hash it states, but only a valid map may be built at
// all: a program that was tampered with must not make the table run out of bounds.
bool cuts_are_valid(const tilepost_map_t& map) {
  const int64_t rows = tiles_m(map);
  const int64_t padded = (rows + map.cluster - 1) / map.cluster * map.cluster;
  const int64_t end = map.layout == TILEPOST_PANEL ? rows : padded * tiles_n(map);
  int64_t previous = 0;
  for (int g = 0; g < map.num_groups; ++g) {
    if (map.cuts[g] <= previous) return false;
    previous = map.cuts[g];
  }
  return previous == end;
}

template <class T>
tilepost_result_t upload(const std::vector<T>& host, DeviceMemory& device, int64_t& bytes) {
  const size_t size = host.size() * sizeof(T);
  TILEPOST_TRY(make_device_memory(device, size));
  TILEPOST_CUDA(cudaMemcpy(device.get(), host.data(), size, cudaMemcpyHostToDevice));
  bytes += static_cast<int64_t>(size);
  return TILEPOST_OK;
}

}  // namespace

bool keeps_tile_layout(const tilepost_plan_t& plan) {
  return plan.map.layout == TILEPOST_TILE && plan.consumer == TILEPOST_CONSUMER_NONE;
}

tilepost_result_t make_schedule(const char* program, const tilepost_plan_t& plan,
                                Schedule& schedule) {
  if (!cuts_are_valid(plan.map))
    return fail(TILEPOST_INVALID_ARGUMENT,
                "program '%s': its groups do not cover the output; regenerate it", program);
  schedule.map = build_tile_map(plan.map);
  const uint64_t hash = hash_tile_map(schedule.map);
  if (hash != plan.map_hash)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "program '%s': its tile map has hash %016" PRIx64 ", the runtime builds %016" PRIx64
                "; generator and runtime differ, regenerate it",
                program, plan.map_hash, hash);
  TILEPOST_TRY(upload(schedule.map.tiles, schedule.tiles, schedule.device_bytes));
  TILEPOST_TRY(upload(schedule.map.positions, schedule.positions, schedule.device_bytes));
  if (keeps_tile_layout(plan))
    TILEPOST_TRY(upload(destination_rows(schedule.map), schedule.rows, schedule.device_bytes));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
