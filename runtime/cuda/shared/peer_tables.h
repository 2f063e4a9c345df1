// What a kernel is told of memory that ranks share (tilepost_view_t): where the rows of each rank's
// share go and whose counters it raises, if it stores there, or where the others' rows arrive. Made
// on the host for one run's map.
#pragma once

#include <vector>

#include "runtime/cuda/device/device.h"
#include "runtime/cuda/shared/layout.h"

namespace tilepost::cuda {

// The memory that tables point into. It outlives them.
struct PeerPlaces {
  const Driver* driver = nullptr;
  const SharedRegions* shared = nullptr;
  uint32_t* counters = nullptr;  // of runs in sequence, which store on this rank alone
  void* send = nullptr;          // where these store
};

// By owner; TILEPOST_ACCESS_WRITE only, empty otherwise. A run in sequence has one owner for all
// rows, and every entry is that; an AllGather has none. `there`, `counters`: of what tasks push.
// `in_map`: one entry where the kernel's tasks spread rows of A, in runs in sequence too, for the
// kernel makes the map fit for use whether or not any tile needs it.
struct PeerTables {
  std::vector<CUtensorMap> out_maps;
  std::vector<uint32_t*> counters;
  std::vector<void*> out;
  std::vector<void*> there;
  std::vector<CUtensorMap> in_map;
};

tilepost_result_t make_peer_tables(const tilepost_plan_t& plan, const RunMap& run,
                                   const PeerPlaces& places, PeerTables& tables);

}  // namespace tilepost::cuda
