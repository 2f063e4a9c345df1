// Ranges and names by which profilers show operations, through NVTX, which is in the headers of the
// CUDA Toolkit. Ranges are in the domain "tilepost". Their texts are registered once for an
// operation. What differs from run to run is a range's payload, a number. Without a profiler a
// range is one comparison.
//
// The file nvtx.cpp is the only one that includes NVTX. It leaves all of it out where the headers
// are absent, or where TILEPOST_NO_NVTX is defined.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "tilepost/plan.h"

struct nvtxStringRegistration_st;  // NVTX's

namespace tilepost::cuda {

// What the host does for an operation, and the payload of its range.
enum class NvtxPart {
  create,       // the most rows of a run
  run,          // the run's rows
  gemm,         // the tiles of a launch
  group,        // the group's number
  synchronize,  // 0
  route,        // this rank's rows of A
  destroy,      // 0
};
constexpr int kNvtxParts = 7;

// An open range of the calling thread, which also ends it. Ranges end in the reverse order of their
// beginnings.
class NvtxRange {
 public:
  NvtxRange() = default;
  NvtxRange(nvtxStringRegistration_st* text, int64_t payload);
  NvtxRange(NvtxRange&& other) noexcept : open_(std::exchange(other.open_, false)) {}
  // Requires that this range is not open.
  NvtxRange& operator=(NvtxRange&& other) noexcept {
    std::swap(open_, other.open_);
    return *this;
  }
  ~NvtxRange() {
    if (open_) close();
  }

 private:
  static void close();

  bool open_ = false;
};

// The texts of an operation on one rank. Before create(), and where no profiler listens, nothing is
// told to anyone.
class NvtxNames {
 public:
  // Registers the texts: "<operation> <pattern> rank <rank>: <part>". Requires a plan that has been
  // checked.
  void create(const char* operation, const tilepost_plan_t& plan, int rank);

  // The range is open as long as what this returns lives.
  NvtxRange open(NvtxPart part, int64_t payload) const {
    return listened_ ? NvtxRange(texts_[static_cast<size_t>(part)], payload) : NvtxRange();
  }

  // Names a stream after the operation, the rank and what is on it. The number of the lane follows,
  // and before it the rank `peer`, where they are not negative.
  void name_stream(cudaStream_t stream, const char* contents, int lane = -1, int peer = -1) const {
    if (listened_) put_name(stream, contents, lane, peer);
  }

 private:
  void put_name(cudaStream_t stream, const char* contents, int lane, int peer) const;

  bool listened_ = false;
  std::array<nvtxStringRegistration_st*, kNvtxParts> texts_{};
  std::string owner_;  // what the names of streams begin with
};

}  // namespace tilepost::cuda
