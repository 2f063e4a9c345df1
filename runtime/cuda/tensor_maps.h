// The tensor maps a TMA kernel gets, made on the host and kept for the pointers seen last.
//
// A is {k, m} (columns, rows), B {k, n} or, as TILEPOST_NN, {n, k}, C {n, m} or, in the tile
// layout, {tile_n, slots * tile_m}. Boxes, swizzle and promotion are the kernel's, out of the plan
// (CUDA driver API, cuTensorMapEncodeTiled).
#pragma once

#include <array>

#include "runtime/cuda/driver.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

struct TensorMaps {
  CUtensorMap a, b, c;
};

// A fixed number of entries, the oldest replaced: nothing is allocated, whatever the caller does.
class TensorMapCache {
 public:
  // `send_elements` is the size of the buffer C is written to.
  void init(const tilepost_plan_t& plan, const Driver& driver, int64_t send_elements);

  // `maps` stays valid until kEntries other triples have been asked for.
  tilepost_result_t find(const void* a, const void* b, void* c, const TensorMaps*& maps);

 private:
  static constexpr int kEntries = 32;
  struct Entry {
    const void* a = nullptr;
    const void* b = nullptr;
    void* c = nullptr;
    TensorMaps maps;
  };

  tilepost_result_t encode(Entry& entry) const;

  const tilepost_plan_t* plan_ = nullptr;
  const Driver* driver_ = nullptr;
  int64_t send_elements_ = 0;
  std::array<Entry, kEntries> entries_{};
  int next_ = 0;
};

}  // namespace tilepost::cuda
