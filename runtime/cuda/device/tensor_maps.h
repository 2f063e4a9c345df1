// The tensor maps that a TMA kernel gets. They are made on the host, and kept for the pointers that
// were used last.
//
// A is {k, rows of a} (columns, rows). B is {k, n}, or with TILEPOST_NN {n, k}. C is {n, rows of
// the send buffer}, or in the tile layout {tile_n, rows of the column of slots}. Boxes, swizzle and
// promotion are those of the plan's kernel (CUDA driver API, cuTensorMapEncodeTiled).
#pragma once

#include <array>

#include "runtime/cuda/device/device.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

struct TensorMaps {
  CUtensorMap a, b, c;
};

// The operands that a set of maps is for.
struct TensorOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  int64_t a_rows = 0;
  int64_t c_rows = 0;
  bool operator==(const TensorOperands&) const = default;
};

// A cache with a fixed number of entries. A new entry replaces the oldest one, so nothing is
// allocated, whatever the caller does.
class TensorMapCache {
 public:
  void init(const tilepost_plan_t& plan, const Driver& driver);

  // `maps` stays valid until kEntries other sets of maps have been made.
  tilepost_result_t find(const TensorOperands& operands, const TensorMaps*& maps);

 private:
  static constexpr int kEntries = 64;
  struct Entry {
    TensorOperands operands;
    TensorMaps maps;
  };

  tilepost_result_t encode(Entry& entry) const;

  const tilepost_plan_t* plan_ = nullptr;
  const Driver* driver_ = nullptr;
  std::array<Entry, kEntries> entries_{};
  int next_ = 0;
};

// Makes the map of `rows` rows of k elements at `base`. The kernel's box of A moves the rows.
tilepost_result_t encode_input(const Driver& driver, const tilepost_plan_t& plan, void* base,
                               int64_t rows, CUtensorMap& map);

// Makes the map of `rows` rows of n elements at `base`, each with a gap of `gap` elements behind
// it. The kernel's box of C moves the rows.
tilepost_result_t encode_output(const Driver& driver, const tilepost_plan_t& plan, const void* base,
                                int64_t rows, int64_t gap, CUtensorMap& map);

}  // namespace tilepost::cuda
