// A plan's tile table on the device: built from the recipe in the plan, compared with the hash the
// generator verified, uploaded once.
#pragma once

#include "runtime/cuda/resources.h"
#include "tilepost/tile_map.h"

namespace tilepost::cuda {

struct Schedule {
  TileMap map;             // the host's copy
  DeviceMemory tiles;      // tilepost_tile_t[num_tiles]
  DeviceMemory positions;  // int32_t[tiles_m * tiles_n]
  DeviceMemory rows;  // int32_t[tiles_m * tiles_n] destination rows; only if the tile layout is
                      // what the caller gets
  int64_t device_bytes = 0;
};

// True when `out` is in slot order and the caller needs to know which.
bool keeps_tile_layout(const tilepost_plan_t& plan);

tilepost_result_t make_schedule(const char* program, const tilepost_plan_t& plan,
                                Schedule& schedule);

}  // namespace tilepost::cuda
