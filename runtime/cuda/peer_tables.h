// What a kernel that stores into other ranks' memory is told: where the rows of each rank's share
// go, and whose counters it raises (tilepost_view_t). Made on the host for one run's map.
#pragma once

#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/shared_memory.h"

namespace tilepost::cuda {

// The memory that tables point into. It outlives them.
struct PeerPlaces {
  const Driver* driver = nullptr;
  const SharedMemory* shared = nullptr;
  uint32_t* counters = nullptr;  // of runs in sequence, which store on this rank alone
  void* send = nullptr;          // where these store
};

// By owner; TILEPOST_ACCESS_WRITE only, empty otherwise. A run in sequence has one owner for all
// rows, and every entry is that.
struct PeerTables {
  std::vector<CUtensorMap> out_maps;
  std::vector<uint32_t*> counters;
  std::vector<void*> out;
};

tilepost_result_t make_peer_tables(const tilepost_plan_t& plan, const RunMap& run,
                                   const PeerPlaces& places, PeerTables& tables);

}  // namespace tilepost::cuda
