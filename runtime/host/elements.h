// Copies and sums of elements on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/map/moved_scales.h"
#include "tilepost/internal/kernel_dtype.h"
#include "tilepost/numeric.h"
#include "tilepost/plan.h"

namespace tilepost {

// Copies `count` elements of `bytes` bytes each. Source and destination may be the same.
inline void copy_elements(const void* from, int64_t first_read, void* to, int64_t first_written,
                          int64_t count, int bytes) {
  std::memmove(static_cast<char*>(to) + first_written * bytes,
               static_cast<const char*>(from) + first_read * bytes,
               static_cast<size_t>(count) * bytes);
}

// Rows of A in memory, and the scales that travel with them; null where none do.
struct InputRows {
  void* rows;
  float* scales;
};

// Rows of A as they move: bytes of an element, and the scales of a row.
struct InputFormat {
  int bytes;
  MovedScales scales;

  explicit InputFormat(const tilepost_plan_t& plan)
      : bytes(static_cast<int>(element_bytes(plan.input))), scales(moved_scales(plan)) {}
};

// Copies `count` elements of A, which are whole rows, and the scales that travel with them.
inline void copy_input(const InputFormat& format, const InputRows& from, int64_t first_read,
                       const InputRows& to, int64_t first_written, int64_t count) {
  copy_elements(from.rows, first_read, to.rows, first_written, count, format.bytes);
  const MovedScales& scales = format.scales;
  if (scales.exist())
    copy_elements(from.scales, scales.of(first_read), to.scales, scales.of(first_written),
                  scales.of(count), sizeof(float));
}

// Calls `body` with a value of the host type of an output's elements.
template <class Body>
void with_element(tilepost_dtype_t output, Body body) {
  with_dtype<&DtypeRow::may_be_output>(
      output, [&](auto dtype) { body(HostElement<in_kernels(dtype.value)>{}); });
}

// A sum over ranks: a block of terms from each rank, in the order of ranks, and the places for the
// sum.
template <class T>
struct Sum {
  std::vector<const T*> terms;
  std::vector<T*> results;
  int64_t count;
  bool rounds_each = false;  // whether every addition is rounded to T; if not, only the last one is
};

template <class T>
void add_up(const Sum<T>& sum) {
  constexpr int kChunk = 256;
  float total[kChunk];
  T rounded[kChunk];
  for (int64_t first = 0; first < sum.count; first += kChunk) {
    const int length = static_cast<int>(std::min<int64_t>(kChunk, sum.count - first));
    for (int i = 0; i < length; ++i) total[i] = to_float(sum.terms[0][first + i]);
    for (size_t rank = 1; rank < sum.terms.size(); ++rank)
      for (int i = 0; i < length; ++i) {
        total[i] += to_float(sum.terms[rank][first + i]);
        if (sum.rounds_each) total[i] = to_float(from_float<T>(total[i]));
      }
    for (int i = 0; i < length; ++i) rounded[i] = from_float<T>(total[i]);
    for (T* result : sum.results) std::memcpy(result + first, rounded, length * sizeof(T));
  }
}

}  // namespace tilepost
